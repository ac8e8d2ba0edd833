import type { Clock } from "../platform/mod.ts";
import { DeviceQueue } from "./device_queue.ts";

/** The queues of this node's devices, by name: engines on one device share one. */
export class DeviceQueues {
  readonly #clock: Clock;
  readonly #queues = new Map<string, DeviceQueue>();

  readonly #onFree: () => void;

  /**
   * @param clock Time.
   * @param onFree Called when a slot fell free that nobody waits for.
   */
  constructor(clock: Clock, onFree: () => void = () => {}) {
    this.#clock = clock;
    this.#onFree = onFree;
  }

  /** The queue of a device, made on first use; only local engines name devices here. */
  of(device: string): DeviceQueue {
    let queue = this.#queues.get(device);
    if (queue === undefined) {
      queue = new DeviceQueue(this.#clock, this.#onFree);
      this.#queues.set(device, queue);
    }
    return queue;
  }

  /** All queues with their names. */
  all(): Iterable<readonly [string, DeviceQueue]> {
    return this.#queues;
  }
}
