import { z } from "zod";
import { type Door, OPEN_DOOR } from "./door.ts";

const doorSchema = z.object({
  count: z.number().int().min(0),
  state: z.enum(["open", "closed"]),
  rotation: z.number().int().min(0),
});

/**
 * Read a door of a member or a file.
 *
 * @returns The door; an untouched one, which changes nothing, where it is none
 *   or comes from a version without doors.
 */
export function parseDoor(value: unknown): Door {
  return doorSchema.safeParse(value).data ?? OPEN_DOOR;
}
