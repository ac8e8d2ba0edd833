import { FileError } from "./files.ts";

/**
 * Have what a file or folder holds, or null where there is none.
 *
 * @param reading A reading that is under way.
 * @throws {FileError} When it is there and can not be read.
 */
export async function ifThere<Value>(
  reading: Promise<Value>,
): Promise<Value | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof FileError && error.problem === "missing") return null;
    throw error;
  }
}
