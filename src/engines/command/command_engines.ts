import type { Engine } from "../../domain/mod.ts";
import { createCommandEngine } from "./command_engine.ts";
import type { CommandEngineOptions } from "./command_options.ts";
import type { CommandSettings } from "./command_settings.ts";
import { findKnownPrograms } from "./known_programs.ts";

/** What a node's command engines are built from. */
export interface CommandEnginesOptions
  extends Omit<CommandEngineOptions, "config"> {
  /** Those that the operator wrote down. */
  readonly given: readonly CommandSettings[];
  /** Whether programs for speech that lie on the path are used unasked. */
  readonly findsPrograms: boolean;
  /** Names that other engines have. */
  readonly takenIds: readonly string[];
}

/**
 * Make the command engines of a node: the operator's, and one for each program
 * for speech on the path of `env` whose name is free.
 *
 * @param options Ports and what is wanted.
 * @returns The engines, each to be disposed of.
 */
export async function createCommandEngines(
  { given, findsPrograms, takenIds, ...rest }: CommandEnginesOptions,
): Promise<readonly (Engine & AsyncDisposable)[]> {
  const taken = [...takenIds, ...given.map(({ id }) => id)];
  const found = findsPrograms
    ? await findKnownPrograms(rest.files, rest.env["PATH"] ?? "", taken)
    : [];
  return [...given, ...found].map((config) =>
    createCommandEngine({ ...rest, config })
  );
}
