/**
 * Look again and again until something is so: for what another process does,
 * which no injected clock can drive. The bound keeps a failing test short; it
 * measures nothing.
 *
 * @param what What is waited for, for the error.
 * @param look Returns undefined while it is not so yet.
 * @param boundMs When to give up.
 * @returns What `look` found.
 * @throws {Error} When the bound has passed.
 */
export async function eventually<Found>(
  what: string,
  look: () => Promise<Found | undefined>,
  boundMs = 60_000,
): Promise<Found> {
  const endMs = performance.now() + boundMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > endMs) {
      throw new Error(`Waited ${boundMs} ms in vain: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
