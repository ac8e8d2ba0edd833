import type { Clock } from "../platform/mod.ts";
import { DeviceQueue } from "./device_queue.ts";

/** The queues of this node's devices, by name: engines on one device share one. */
export class DeviceQueues {
  readonly #clock: Clock;
  readonly #queues = new Map<string, DeviceQueue>();

  /** @param clock Time. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The queue of a device, made on first use; only local engines name devices here. */
  of(device: string): DeviceQueue {
    let queue = this.#queues.get(device);
    if (queue === undefined) {
      queue = new DeviceQueue(this.#clock);
      this.#queues.set(device, queue);
    }
    return queue;
  }

  /** All queues with their names. */
  all(): Iterable<readonly [string, DeviceQueue]> {
    return this.#queues;
  }
}
