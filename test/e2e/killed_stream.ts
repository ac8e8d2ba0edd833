/** What a client has of a stream on whose way something was killed. */
export interface KilledStream {
  readonly status: number;
  /** All bytes, as text. */
  readonly raw: string;
  readonly decision: string | null;
}

/** What is to happen while a stream is read. */
export interface StreamActs {
  /** Called when its head is there. */
  begun?(): void;
  /** Whether it has come as far as it is to come, by all that came. */
  isThere(raw: string): boolean;
  /** What to do then, once; it is waited for. */
  act(): Promise<unknown>;
}

/**
 * Ask for a stream, and do something as soon as so much of it is there.
 *
 * @param request What to ask.
 * @param acts What to do.
 * @returns All of it.
 */
export async function streamAndAct(
  request: Request,
  { act, begun, isThere }: StreamActs,
): Promise<KilledStream> {
  const response = await fetch(request);
  begun?.();
  if (response.body === null) throw new Error("The answer has no body");
  let raw = "";
  let acted: Promise<unknown> | null = null;
  for await (
    const piece of response.body.pipeThrough(new TextDecoderStream())
  ) {
    raw += piece;
    if (acted === null && isThere(raw)) acted = act();
  }
  await acted;
  if (acted === null) throw new Error(`It never came so far: ${raw}`);
  return {
    status: response.status,
    raw,
    decision: response.headers.get("x-covey-decision"),
  };
}

/**
 * The text of a chat's events in OpenAI's dialect, in the pieces in which it came.
 *
 * @param raw The stream.
 */
export function chatPieces(raw: string): readonly string[] {
  return raw.split("\n\n").filter((event) => event.startsWith("data: {"))
    .map((event) =>
      JSON.parse(event.slice("data: ".length)).choices?.[0]?.delta?.content ??
        ""
    ).filter((piece) => piece !== "");
}

/** How an attempt ended, as a decision shows it. */
export interface ShownAttempt {
  readonly node: string;
  readonly outcome: string;
  readonly resumedAtTokens?: number;
}

/**
 * The attempts of a decision.
 *
 * @param url The entry node.
 * @param decision Its id.
 */
export async function attemptsOf(
  url: string,
  decision: string | null,
): Promise<readonly ShownAttempt[]> {
  const response = await fetch(`${url}/covey/decisions/${decision}`);
  return (await response.json()).attempts;
}
