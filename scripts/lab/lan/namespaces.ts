import { endOf, runProgram } from "./run_program.ts";

/** All network namespaces of test LANs begin so, with the id of the process that made them. */
const PREFIX = "ct";
const NAME = /^ct(\d+)(?:sw|h\d+)$/;

/**
 * The name of a namespace of this process's.
 *
 * @param part `sw` for the switch, `h` and a number for a host.
 * @returns The name.
 */
export function namespaceOf(part: "sw" | `h${number}`): string {
  return `${PREFIX}${Deno.pid}${part}`;
}

/** Remove the namespaces of this process, with every process in them, and those that crashed runs left. */
export async function sweepNamespaces(): Promise<void> {
  const listed = await runProgram(["ip", "netns", "list"]);
  const names = listed.split("\n").map((line) => line.split(" ", 1)[0] ?? "");
  await Promise.all(names.map(async (name) => {
    const owner = Number(NAME.exec(name)?.[1]);
    if (Number.isNaN(owner)) return;
    if (owner !== Deno.pid && await isRunning(owner)) return;
    await removeNamespace(name);
  }));
}

async function removeNamespace(name: string): Promise<void> {
  for (const signal of ["-TERM", "-KILL"]) {
    const { stdout } = await endOf(["ip", "netns", "pids", name]);
    const pids = stdout.split("\n").filter((one) => one !== "");
    if (pids.length === 0) break;
    await endOf(["kill", signal, ...pids]);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await endOf(["ip", "netns", "del", name]);
}

async function isRunning(pid: number): Promise<boolean> {
  return await Deno.stat(`/proc/${pid}`).then(() => true, () => false);
}
