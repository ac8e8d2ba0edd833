import { FileError, type Files } from "../../platform/mod.ts";
import type { CommandModel, CommandSettings } from "./command_settings.ts";

const TIME_LIMIT_MS = 300_000;

/** Programs that need no word of the operator, the most welcome first. */
const KNOWN: readonly CommandModel[] = [
  {
    id: "espeak-ng",
    capability: "speech",
    command: [
      "espeak-ng",
      "--stdin",
      "-v",
      "{voice}",
      "-s",
      "{wpm}",
      "-w",
      "{output}",
    ],
    output: "wav",
    voice: "en-us",
    slots: 1,
    timeLimitMs: TIME_LIMIT_MS,
  },
  {
    id: "say",
    capability: "speech",
    command: [
      "say",
      "-v",
      "{voice}",
      "-r",
      "{wpm}",
      "--file-format=WAVE",
      "--data-format=LEI16@22050",
      "-o",
      "{output}",
      "-f",
      "{input}",
    ],
    output: "wav",
    slots: 1,
    timeLimitMs: TIME_LIMIT_MS,
  },
  {
    id: "pocketsphinx",
    capability: "transcription",
    command: [
      "pocketsphinx_continuous",
      "-infile",
      "{input}",
      "-time",
      "yes",
      "-logfn",
      "/dev/null",
    ],
    output: "sphinx",
    language: "en",
    slots: 1,
    timeLimitMs: TIME_LIMIT_MS,
  },
];

/**
 * Find programs for speech that this machine has.
 *
 * @param files The file system.
 * @param path Where programs are looked for, as PATH has it.
 * @param takenIds Names of engines that are spoken for; a program by such a name is left out.
 * @returns One engine a program.
 */
export async function findKnownPrograms(
  files: Files,
  path: string,
  takenIds: readonly string[],
): Promise<readonly CommandSettings[]> {
  const found: CommandSettings[] = [];
  for (const model of KNOWN) {
    const [program = ""] = model.command;
    if (takenIds.includes(model.id)) continue;
    if (await isOnPath(files, path, program)) {
      found.push({ id: model.id, models: [model] });
    }
  }
  return found;
}

/**
 * Tell whether a program lies on the path.
 *
 * @param files The file system.
 * @param path Folders, separated by colons.
 * @param program Its name.
 */
export async function isOnPath(
  files: Files,
  path: string,
  program: string,
): Promise<boolean> {
  for (const folder of path.split(":")) {
    if (!folder.startsWith("/")) continue;
    try {
      if ((await files.stat(`${folder}/${program}`)).kind === "file") {
        return true;
      }
    } catch (error) {
      // Not there, or not for us: the next folder may have it.
      if (!(error instanceof FileError)) throw error;
    }
  }
  return false;
}
