import { Fault } from "../domain/mod.ts";

const LONGEST_BYTES = 200;
/** Names that some file system or program takes for something else. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\u0000-\u001f\u007f/\\:*?"<>|]/;

/**
 * Whether a name from elsewhere may become a file or folder here: one step of a
 * path, visible, and the same name on every file system.
 *
 * @param name One segment of a path.
 */
export function isSafeName(name: string): boolean {
  return name !== "" && !name.startsWith(".") && !/[. ]$/.test(name) &&
    !FORBIDDEN.test(name) && !RESERVED.test(name) && name.isWellFormed() &&
    new TextEncoder().encode(name).length <= LONGEST_BYTES;
}

const LIKE_A_PART = /-[0-9]{5}-of-[0-9]{5}$/;

/**
 * Refuse what cannot be the name of a model here.
 *
 * @param name The name.
 * @param param Field of the request that has it.
 * @throws {Fault} `invalid_request`.
 */
export function checkNewName(name: string, param: string): void {
  if (isSafeName(name) && !LIKE_A_PART.test(name)) return;
  throw new Fault(
    "invalid_request",
    `${
      JSON.stringify(name.slice(0, 80))
    } cannot be the name of a model here: give letters, digits and . _ -, as for a file`,
    { param },
  );
}
