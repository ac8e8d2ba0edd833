/**
 * Make a secret that no other cluster on this machine has: multicast on the
 * loopback interface is heard by whatever runs here, a second run of the same
 * program included, and equal secrets would make one cluster of both.
 *
 * @returns A secret that a node accepts.
 */
export function newSecret(): string {
  return crypto.getRandomValues(new Uint8Array(20)).toHex();
}
