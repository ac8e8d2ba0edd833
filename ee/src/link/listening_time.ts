import type { Clock } from "@covey/core/platform";

const SLICES = 4;

/**
 * Call back once, after this process has listened for a time. A process that is
 * held up, by sixty requests at once say, finds its timers due before it has
 * looked whether an answer came meanwhile: of such a pause no more than a
 * quarter of the limit counts.
 *
 * @param clock Measures.
 * @param ms How long.
 * @param call What to call.
 * @returns Disposing it takes the call back.
 */
export function afterListening(
  clock: Clock,
  ms: number,
  call: () => void,
): Disposable {
  let left = SLICES;
  const wait = (): Disposable =>
    clock.after(ms / SLICES, () => {
      if (--left === 0) call();
      else timer = wait();
    });
  let timer = wait();
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
