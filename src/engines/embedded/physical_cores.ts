/**
 * Count the processor's cores, hyper-threads not counted twice: ggml's threads
 * spin against each other when they share one. Loaded on first use, since the
 * library costs memory.
 *
 * @returns At least 1, and never more than this process may use.
 */
export async function countPhysicalCores(): Promise<number> {
  const usable = Math.max(navigator.hardwareConcurrency, 1);
  const { default: systeminformation } = await import("systeminformation");
  const { physicalCores } = await systeminformation.cpu();
  return Math.min(Math.max(physicalCores, 1), usable);
}
