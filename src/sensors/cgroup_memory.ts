import { readNumber } from "./number_reading.ts";
import type { MachineReader } from "./sensor.ts";

/**
 * The greatest limit that is one: cgroup v1 says "none" by the largest number
 * that fits its pages.
 */
const GREATEST_LIMIT = 2 ** 60;
const MOST_LEVELS = 16;

/** Memory that a control group leaves this process. */
export interface CgroupMemory {
  readonly limitBytes: number;
  readonly availableBytes: number;
}

/** Where one version of cgroups keeps its files. */
interface Layout {
  readonly root: string;
  readonly limit: string;
  readonly usage: string;
  /** Names of file pages in `memory.stat`: the kernel takes them back when it needs them. */
  readonly reclaimable: readonly string[];
}

const V2: Layout = {
  root: "/sys/fs/cgroup",
  limit: "memory.max",
  usage: "memory.current",
  reclaimable: ["inactive_file", "active_file"],
};
const V1: Layout = {
  root: "/sys/fs/cgroup/memory",
  limit: "memory.limit_in_bytes",
  usage: "memory.usage_in_bytes",
  reclaimable: ["total_inactive_file", "total_active_file"],
};

/** Read a limit: `max` and v1's huge number are none. */
export function parseLimit(text: string | null): number | null {
  return readNumber(text, 1, GREATEST_LIMIT);
}

/**
 * Read /proc/self/cgroup.
 *
 * @param text The file.
 * @returns The group's path in either version, `/` where none is named.
 */
export function parseGroupPaths(
  text: string | null,
): { readonly v1: string; readonly v2: string } {
  let v1 = "/";
  let v2 = "/";
  for (const line of (text ?? "").split("\n").slice(0, 64)) {
    const match = /^\d+:([^:]*):(\/[^\0]*)$/.exec(line);
    const path = match?.[2];
    if (path === undefined || path.split("/").includes("..")) continue;
    if (match?.[1] === "") v2 = path;
    else if (match?.[1]?.split(",").includes("memory")) v1 = path;
  }
  return { v1, v2 };
}

/**
 * Add up lines of `memory.stat`, in bytes. File pages count as free, as in the
 * kernel's own MemAvailable.
 *
 * @param text The file.
 * @param names The lines; those it does not have are 0.
 */
export function parseReclaimable(
  text: string | null,
  names: readonly string[],
): number {
  return (text ?? "").split("\n").slice(0, 256).reduce((sum, line) => {
    const [name, value] = line.split(" ", 2);
    const bytes = names.includes(name ?? "")
      ? readNumber(value, 0, GREATEST_LIMIT)
      : null;
    return sum + (bytes ?? 0);
  }, 0);
}

/**
 * Read the tightest limit over this process's group and those above it. The
 * path that the kernel names is not there in a container that sees its own
 * group as the root: then the root counts.
 *
 * @param reader The machine.
 * @returns The limit and what is left of it, or null where nothing limits.
 */
export async function readCgroupMemory(
  reader: MachineReader,
): Promise<CgroupMemory | null> {
  const paths = parseGroupPaths(await reader.text("/proc/self/cgroup"));
  const levels = await Promise.all([
    ...groupsUp(paths.v2).map((group) => readLevel(reader, V2, group)),
    ...groupsUp(paths.v1).map((group) => readLevel(reader, V1, group)),
  ]);
  const limits = levels.filter((level) => level !== null);
  if (limits.length === 0) return null;
  return {
    limitBytes: Math.min(...limits.map(({ limitBytes }) => limitBytes)),
    availableBytes: Math.min(
      ...limits.map(({ availableBytes }) => availableBytes),
    ),
  };
}

async function readLevel(
  reader: MachineReader,
  { limit, reclaimable, root, usage }: Layout,
  group: string,
): Promise<CgroupMemory | null> {
  const folder = `${root}${group}`;
  const limitBytes = parseLimit(await reader.text(`${folder}${limit}`));
  if (limitBytes === null) return null;
  const used = readNumber(
    await reader.text(`${folder}${usage}`),
    0,
    GREATEST_LIMIT,
  );
  const given = parseReclaimable(
    await reader.text(`${folder}memory.stat`),
    reclaimable,
  );
  const taken = Math.max(0, (used ?? 0) - given);
  return { limitBytes, availableBytes: Math.max(0, limitBytes - taken) };
}

/** `/a/b` → `/a/b/`, `/a/`, `/`. */
function groupsUp(path: string): readonly string[] {
  const names = path.split("/").filter((name) => name !== "")
    .slice(0, MOST_LEVELS);
  const groups: string[] = [];
  for (let depth = names.length; depth >= 0; depth--) {
    groups.push(
      names.slice(0, depth).map((name) => `/${name}`).join("") + "/",
    );
  }
  return groups;
}
