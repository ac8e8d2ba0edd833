import assert from "node:assert/strict";

/** Spoiled messages for each kind of input; `deno task fuzz:ee` sets more. */
export const FUZZ_COUNT = Number(Deno.env.get("COVEY_FUZZ") ?? 4000);
/** Seed of the run, for the message of a failure. */
export const FUZZ_SEED = Number(Deno.env.get("COVEY_FUZZ_SEED") ?? 1);

const GROWTH_BYTES = 20 * 2 ** 20;
/** Share of the run in which caches fill and code is compiled. */
const WARM_UP = 0.25;

/**
 * Feed something many times and see that memory does not grow with it. That is
 * measured where the garbage collector can be asked to run (`--expose-gc`) and
 * the run is long enough to tell.
 *
 * @param feed Feeds the n-th message.
 */
export async function feedMany(
  feed: (n: number) => void | Promise<void>,
): Promise<void> {
  const collect: unknown = Reflect.get(globalThis, "gc");
  const heapBytes = () => {
    if (typeof collect === "function") collect();
    return Deno.memoryUsage().heapUsed;
  };
  let warmBytes = 0;
  const warm = Math.floor(FUZZ_COUNT * WARM_UP);
  for (let n = 0; n < FUZZ_COUNT; n++) {
    if (n === warm) warmBytes = heapBytes();
    try {
      const fed = feed(n);
      if (fed !== undefined) await fed;
    } catch (cause) {
      throw new Error(`Message ${n} of seed ${FUZZ_SEED} broke it`, { cause });
    }
  }
  const grownBytes = heapBytes() - warmBytes;
  if (typeof collect === "function") {
    assert.ok(
      grownBytes < GROWTH_BYTES,
      `The heap grew by ${Math.round(grownBytes / 1024)} KiB`,
    );
  }
}
