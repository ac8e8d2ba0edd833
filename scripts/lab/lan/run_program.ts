/** How a program ended that was waited for. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Run a program to its end, whatever its exit code.
 *
 * @param command Program and arguments.
 * @param input What it reads on stdin.
 * @returns How it ended.
 */
export async function endOf(
  command: readonly string[],
  input = "",
): Promise<Ended> {
  const [program = "", ...args] = command;
  const child = new Deno.Command(program, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  // A program that does not read its input may be gone before it is written.
  await writer.write(new TextEncoder().encode(input)).catch(() => {});
  await writer.close().catch(() => {});
  const { code, stderr, stdout } = await output;
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}

/**
 * Run a program that has to succeed.
 *
 * @param command Program and arguments.
 * @param input What it reads on stdin.
 * @returns What it wrote on stdout.
 * @throws {Error} When its exit code is not 0; what it said is in the message.
 */
export async function runProgram(
  command: readonly string[],
  input = "",
): Promise<string> {
  const { code, stderr, stdout } = await endOf(command, input);
  if (code !== 0) {
    throw new Error(
      `"${command.join(" ")}" ended with code ${code}: ${stderr.trim()}`,
    );
  }
  return stdout;
}
