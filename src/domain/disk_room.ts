const FREE_SHARE = 0.1;
const FREE_BYTES = 20e9;

/**
 * What has to stay free on the disk of the models folder: a tenth of it, but
 * never more than 20 GB. A machine that has less is degraded, and nothing is
 * pulled or copied to it; it serves all the same.
 *
 * @param totalBytes Size of the disk.
 */
export function bytesToStayFree(totalBytes: number): number {
  return Math.min(totalBytes * FREE_SHARE, FREE_BYTES);
}
