import {
  isJsonObject,
  type JsonValue,
  type PullRequest,
} from "../../domain/mod.ts";
import { type Files, ifThere } from "../../platform/mod.ts";

const MOST_PULLS = 64;

/** A pull that had not ended. */
export interface KeptPull {
  readonly request: PullRequest;
  /** Whether it waits for an operator to go on with it. */
  readonly paused: boolean;
}

/**
 * Read the pulls that had not ended when the node did.
 *
 * @param files The file system.
 * @param path Where they are kept.
 * @returns What can be read; none where there is no such file.
 * @throws {FileError} When it can not be read.
 */
export async function readPullList(
  files: Files,
  path: string,
): Promise<readonly KeptPull[]> {
  const text = await ifThere(files.readText(path));
  if (text === null) return [];
  try {
    const kept: JsonValue = JSON.parse(text);
    return Array.isArray(kept) ? kept.slice(0, MOST_PULLS).flatMap(parse) : [];
  } catch (error) {
    // Not written by this program: a pull can be asked for again.
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

/**
 * Keep the pulls that did not end. A URL may hold a secret, so that nobody else may
 * read it.
 *
 * @throws {FileError} When it can not be written.
 */
export async function writePullList(
  files: Files,
  path: string,
  kept: readonly KeptPull[],
): Promise<void> {
  const lines = kept.map(({ paused, request }) =>
    paused ? { ...request, paused } : request
  );
  await files.writeAtomic(path, JSON.stringify(lines), 0o600);
}

function parse(value: JsonValue): KeptPull[] {
  if (!isJsonObject(value)) return [];
  const { maxBytesPerSecond, paused, revision, source } = value;
  if (typeof source !== "string") return [];
  return [{
    request: {
      source,
      ...(typeof revision === "string" ? { revision } : {}),
      ...(typeof maxBytesPerSecond === "number" ? { maxBytesPerSecond } : {}),
    },
    paused: paused === true,
  }];
}
