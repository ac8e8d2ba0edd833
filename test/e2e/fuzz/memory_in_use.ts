import { fileURLToPath } from "node:url";
import { eventually } from "../../../scripts/lab/eventually.ts";
import {
  FROM_SOURCE,
  type NodeProcess,
} from "../../../scripts/lab/node_process.ts";

const [PROGRAM = "", RUN = "", ...REST] = FROM_SOURCE;

/** Command line of a node whose memory `memoryInUse` can measure. */
export const MEASURED: readonly string[] = [
  PROGRAM,
  RUN,
  "--v8-flags=--expose-gc",
  `--preload=${
    fileURLToPath(new URL("./collect_on_signal.ts", import.meta.url))
  }`,
  ...REST,
];

const TOLD = /^In use after collection: (\d+)$/gm;

/**
 * Have a node collect all its garbage and tell what is in use then. What it
 * takes of the machine says little: V8 lets what died old lie for minutes,
 * 100 MB of it, so that two looks at that may differ by as much in either
 * direction.
 *
 * @param node A node that was started by `MEASURED`.
 * @returns Bytes of its heap and of what hangs on it outside.
 */
export async function memoryInUse(node: NodeProcess): Promise<number> {
  const told = () => [...node.log().matchAll(TOLD)];
  const before = told().length;
  Deno.kill(node.pid, "SIGUSR2");
  return await eventually("the node tells what is in use", () => {
    const all = told();
    const last = all.length > before ? all.at(-1)?.[1] : undefined;
    return Promise.resolve(last === undefined ? undefined : Number(last));
  });
}
