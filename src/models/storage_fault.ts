import { Fault } from "../domain/mod.ts";
import { FileError, type FileProblem } from "../platform/mod.ts";

const REMEDY: Readonly<Record<FileProblem, string>> = {
  missing: "a file or folder is not there, or went away meanwhile",
  denied:
    "this user may not change the models folder; the node's log names the folder and the user; give it the right, or set COVEY_MODELS_DIR to another folder",
  full: "the disk is full; make room, or set COVEY_MODELS_DIR to another disk",
  read_only:
    "the models folder lies on a read-only file system; set COVEY_MODELS_DIR to another folder",
  exists: "a file of that name exists already",
  no_folder: "a part of the path is no folder",
  folder: "a folder stands where a file is needed",
  other: "the disk failed",
};

/**
 * Tell a caller of a failed file operation without telling where files lie.
 *
 * @param error What was thrown.
 * @param action What could not be done, for example `remove the model "m"`.
 * @returns A fault for a `FileError`; anything else as it is.
 */
export function storageFault(error: unknown, action: string): unknown {
  if (!(error instanceof FileError)) return error;
  return new Fault(
    "storage_failed",
    `Failed to ${action}: ${REMEDY[error.problem]}`,
    { cause: error },
  );
}
