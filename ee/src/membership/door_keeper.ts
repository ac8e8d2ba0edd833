import { type Door, isShutTo, mergeDoors, setDoor } from "./door.ts";

/** What is kept of the door over a restart. */
export interface SavedDoor {
  readonly door: Door;
  /** Rotations of the secret that lie behind this node. */
  readonly rotation: number;
}

/** What keeping the door needs. */
export interface DoorKeeperOptions {
  readonly saved: SavedDoor;
  /** Called after every change. */
  onChange(): void;
  /** Called when it was opened or closed. */
  onTurned(state: Door["state"], by: string): void;
}

/** The door's only writer. */
export class DoorKeeper {
  readonly #options: DoorKeeperOptions;
  #saved: SavedDoor;

  constructor(options: DoorKeeperOptions) {
    this.#options = options;
    this.#saved = options.saved;
  }

  get saved(): SavedDoor {
    return this.#saved;
  }

  get door(): Door {
    return this.#saved.door;
  }

  /**
   * Whether the door is shut to a secret of this node.
   *
   * @param slot 0 for its secret, 1 for the one before.
   */
  isShut(slot: 0 | 1): boolean {
    return isShutTo(this.#saved.door, this.#saved.rotation - slot);
  }

  /** Open or close it. */
  set(state: Door["state"]): void {
    const { door, rotation } = this.#saved;
    this.#take({ door: setDoor(door, state, rotation), rotation }, "here");
  }

  /**
   * Take another member's view.
   *
   * @param from Its name.
   */
  merge(door: Door, from: string): void {
    const { rotation } = this.#saved;
    this.#take({ door: mergeDoors(this.#saved.door, door), rotation }, from);
  }

  /** Take the count of rotations that a proved peer has for a secret both know. */
  align(rotation: number): void {
    const { door, rotation: own } = this.#saved;
    this.#take({ door, rotation: Math.max(own, rotation) }, "here");
  }

  #take(next: SavedDoor, by: string): void {
    const { door, rotation } = this.#saved;
    if (next.door === door && next.rotation === rotation) return;
    this.#saved = next;
    if (next.door.state !== door.state) {
      this.#options.onTurned(next.door.state, by);
    }
    this.#options.onChange();
  }
}
