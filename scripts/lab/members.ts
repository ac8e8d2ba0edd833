/** A member as `/cluster/members` shows it. */
export interface ListedMember {
  readonly id: string;
  readonly name: string;
  readonly self: boolean;
  readonly health: string;
  readonly addresses: readonly string[];
}

/**
 * Read a node's member table.
 *
 * @param url Base address of the node.
 * @returns Its members.
 */
export async function listMembers(url: string): Promise<ListedMember[]> {
  const response = await fetch(`${url}/cluster/members`);
  const body = await response.json();
  if (!response.ok) {
    throw new Error(`${url}/cluster/members answered ${response.status}`);
  }
  return body.members;
}

/**
 * Tell whether a member is given work: a busy machine degrades its members, and
 * they serve all the same.
 *
 * @param member The member.
 */
export function isUsed({ health }: Pick<ListedMember, "health">): boolean {
  return health === "HEALTHY" || health === "DEGRADED";
}

/**
 * Wait until all of some nodes see so many members that are given work.
 *
 * @param urls Base addresses.
 * @param count How many members each must list as used.
 * @param timeoutMs When to give up: far more than it takes, since it measures nothing.
 * @returns Milliseconds it took.
 * @throws {Error} When it did not happen in time; what was seen last is in the message.
 */
export async function membersSeen(
  urls: readonly string[],
  count: number,
  timeoutMs = 60_000,
): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const seen = await Promise.all(urls.map(listMembers));
    const elapsedMs = performance.now() - startedMs;
    const whole = seen.every((members) =>
      members.filter(isUsed).length === count
    );
    if (whole) return elapsedMs;
    if (elapsedMs > timeoutMs) {
      throw new Error(
        `The nodes did not see ${count} members they use within ${timeoutMs} ms: ${
          JSON.stringify(seen)
        }`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
