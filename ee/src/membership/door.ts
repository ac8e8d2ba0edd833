/**
 * Whether the secret alone lets anybody in. Replicated: every member holds the
 * same one in the end.
 */
export interface Door {
  /** Raised by each opening and closing. */
  readonly count: number;
  readonly state: "open" | "closed";
  /**
   * How many rotations of the secret lay behind the member that set it: a
   * closing concerns the secrets of that time, and none that came after.
   */
  readonly rotation: number;
}

/** The door before anybody touched it. */
export const OPEN_DOOR: Door = { count: 0, state: "open", rotation: 0 };

/**
 * Merge two views of the door: the higher count wins, then closed wins, then
 * the later rotation, so that any order of merges ends alike and nothing fails
 * open.
 */
export function mergeDoors(a: Door, b: Door): Door {
  if (a.count !== b.count) return a.count > b.count ? a : b;
  if (a.state !== b.state) return a.state === "closed" ? a : b;
  return a.rotation >= b.rotation ? a : b;
}

/**
 * The door after an operator's word.
 *
 * @param door As it was.
 * @param state What it is to be.
 * @param rotation Rotations of the secret that lie behind this node.
 */
export function setDoor(
  door: Door,
  state: Door["state"],
  rotation: number,
): Door {
  return { count: door.count + 1, state, rotation };
}

/**
 * Whether the door is closed to a secret.
 *
 * @param door The door.
 * @param rotation Rotations that lie behind that secret.
 */
export function isShutTo(door: Door, rotation: number): boolean {
  return door.state === "closed" && rotation <= door.rotation;
}
