import { FileError, type Files } from "@covey/core/platform";
import { z } from "zod";
import { PARTS_FOLDER } from "./begun_copies.ts";
import type { CopyAsk } from "./copy_view.ts";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Lies beside the parts of the model. */
const ASK_FILE = "ask.json";

/** What is remembered of a copy that has not ended, beside its bytes. */
export interface KeptAsk
  extends Pick<CopyAsk, "model" | "bytesPerSecond" | "companions"> {
  /** Whether it waits for an operator to go on with it. */
  readonly paused: boolean;
  /** Root of the model that this goes with; absent for a model. */
  readonly of?: string;
}

const root = z.string().regex(/^[0-9a-f]{64}$/);
const askSchema = z.object({
  model: z.string().min(1).max(300),
  bytesPerSecond: z.number().min(1).nullable(),
  paused: z.boolean(),
  companions: root.exactOptional(),
  of: root.exactOptional(),
});

/**
 * Read what is remembered of a copy.
 *
 * @param modelsDir The models folder.
 * @param root Root of the model.
 * @returns Null where nothing is, or it is not sound.
 * @throws {FileError} When it can not be read.
 */
export async function readKeptAsk(
  files: Files,
  modelsDir: string,
  root: string,
): Promise<KeptAsk | null> {
  try {
    const text = await files.readText(pathOf(modelsDir, root));
    return askSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch (error) {
    // Not written by this program, or torn: what came is gone on with all the same.
    if (error instanceof SyntaxError) return null;
    if (error instanceof FileError && error.problem === "missing") return null;
    throw error;
  }
}

/**
 * Remember a copy.
 *
 * @param modelsDir The models folder.
 * @param root Root of the model.
 * @throws {FileError} When it can not be written.
 */
export async function writeKeptAsk(
  files: Files,
  modelsDir: string,
  root: string,
  { bytesPerSecond, companions, model, of, paused }: KeptAsk,
): Promise<void> {
  const path = pathOf(modelsDir, root);
  await files.makeFolder(path.slice(0, path.lastIndexOf("/")), FOLDER_MODE);
  const text = JSON.stringify({
    model,
    bytesPerSecond,
    paused,
    companions,
    of,
  });
  await files.writeAtomic(path, text, FILE_MODE);
}

function pathOf(modelsDir: string, root: string): string {
  return `${modelsDir}/${PARTS_FOLDER}/${root}/${ASK_FILE}`;
}
