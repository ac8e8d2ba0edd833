import { type Files, ifThere } from "@covey/core/platform";
import { z } from "zod";
import { STANDING_FILE } from "../resumes.ts";

const fileSchema = z.object({ v: z.literal(1), clusterId: z.uuid() });

/**
 * Read in which cluster this node is without a secret.
 *
 * @returns The cluster's id, or null where it is in none.
 * @throws {Error} When the file is there and can not be understood.
 */
export async function readStanding(
  files: Files,
  stateDir: string,
): Promise<string | null> {
  const path = `${stateDir}/${STANDING_FILE}`;
  const text = await ifThere(files.readText(path));
  if (text === null) return null;
  const parsed = fileSchema.safeParse(parseJson(text)).data;
  if (parsed !== undefined) return parsed.clusterId;
  throw new Error(
    `Failed to read in which cluster this node is from "${path}": the file is damaged; remove it and ask a member for a new invitation`,
  );
}

/** Keep in which cluster this node is. */
export async function writeStanding(
  files: Files,
  stateDir: string,
  clusterId: string,
): Promise<void> {
  await files.makeFolder(stateDir, 0o700);
  await files.writeAtomic(
    `${stateDir}/${STANDING_FILE}`,
    `${JSON.stringify({ v: 1, clusterId })}\n`,
    0o600,
  );
}

/** Forget it. */
export async function clearStanding(
  files: Files,
  stateDir: string,
): Promise<void> {
  await files.remove(`${stateDir}/${STANDING_FILE}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Torn or garbled; the caller says so.
    return undefined;
  }
}
