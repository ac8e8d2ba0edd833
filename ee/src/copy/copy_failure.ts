import { FileError, type FileProblem } from "@covey/core/platform";

const REMEDY: Readonly<Record<FileProblem, string>> = {
  missing: "A file or folder of the copy went away meanwhile",
  denied:
    "That node may not write its models folder: its log names the file; give its user the right",
  full: "The disk of the models folder is full: make room on that node",
  read_only:
    "The models folder of that node lies on a read-only file system: set its COVEY_MODELS_DIR to another folder",
  exists: "A file of that name exists already on that node",
  no_folder: "a part of the path is no folder",
  folder: "a folder stands where a file is needed",
  other: "The disk of the models folder failed",
};

/**
 * Say why a copy failed, for whoever asked for it on whichever node: without
 * where files lie, which the receiving node's own log tells.
 *
 * @param error What was thrown.
 */
export function failureOf(error: unknown): string {
  if (error instanceof FileError) return REMEDY[error.problem];
  return error instanceof Error ? error.message : "It failed";
}
