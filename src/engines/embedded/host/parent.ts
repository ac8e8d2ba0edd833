/** What ties this process to the one that started it. */
export interface ParentTie {
  /** The start's token, or null when the parent went before it was sent. */
  readonly token: string | null;
  /** Resolves when the parent is gone or wants this process to go. */
  readonly gone: Promise<void>;
}

const MAX_TOKEN_LENGTH = 1024;
const LINE_FEED = 10;

/**
 * Read the token from the first line of stdin, then keep reading: the end of
 * stdin is the end of the parent, however it went. SIGTERM counts as that too.
 *
 * @param stdin This process's standard input.
 * @returns Once the first line is there.
 */
export async function watchParent(
  stdin: ReadableStream<Uint8Array>,
): Promise<ParentTie> {
  const terminated = Promise.withResolvers<void>();
  Deno.addSignalListener("SIGTERM", () => terminated.resolve());
  const reader = stdin.getReader();
  const bytes: number[] = [];
  let token: string | null = null;
  while (token === null && bytes.length <= MAX_TOKEN_LENGTH) {
    const { done, value } = await reader.read();
    if (done) break;
    const end = value.indexOf(LINE_FEED);
    bytes.push(...(end < 0 ? value : value.subarray(0, end)));
    if (end >= 0) token = new TextDecoder().decode(Uint8Array.from(bytes));
  }
  const text = token?.trim() ?? "";
  return {
    token: text === "" ? null : text,
    gone: Promise.race([terminated.promise, readToEnd(reader)]),
  };
}

async function readToEnd(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<void> {
  while (!(await reader.read()).done);
}
