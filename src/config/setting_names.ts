import type { Setting } from "./setting.ts";
import { SETTINGS } from "./settings.ts";

/** Which setting a name belongs to, and whether it gives the value or a file that holds it. */
export interface NameMeaning {
  readonly setting: Setting<unknown>;
  readonly form: "value" | "path";
}

/** All settings, in the order in which they are listed to people. */
export const SETTING_LIST: readonly Setting<unknown>[] = Object.values(
  SETTINGS,
);

/** Names in the environment: variables, their aliases, and `…_FILE` of secrets. */
export const VARIABLES: ReadonlyMap<string, NameMeaning> = index(
  (setting) => [setting.variable, ...setting.aliases ?? []],
  (setting) => `${setting.variable}_FILE`,
);

/** Keys of covey.jsonc: `maxQueue` for COVEY_MAX_QUEUE. */
export const FILE_KEYS: ReadonlyMap<string, NameMeaning> = index(
  (setting) => [fileKeyOf(setting)],
  (setting) => `${fileKeyOf(setting)}File`,
);

/** Flags of `serve`: `--max-queue` for COVEY_MAX_QUEUE; secrets have the file form alone. */
export const FLAGS: ReadonlyMap<string, NameMeaning> = index(
  (setting) => setting.secret ? [] : [flagOf(setting)],
  (setting) => `${flagOf(setting)}-file`,
);

/**
 * Name a setting's flag.
 *
 * @param setting Whose.
 * @returns For example `--max-queue`.
 */
export function flagOf(setting: Setting<unknown>): string {
  return `--${wordsOf(setting).join("-")}`;
}

/**
 * Name a setting's key in covey.jsonc.
 *
 * @param setting Whose.
 * @returns For example `maxQueue`.
 */
export function fileKeyOf(setting: Setting<unknown>): string {
  return wordsOf(setting).map((word, at) =>
    at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)
  ).join("");
}

function wordsOf(setting: Setting<unknown>): string[] {
  return setting.variable.replace(/^COVEY_/, "").toLowerCase().split("_");
}

function index(
  valueNames: (setting: Setting<unknown>) => readonly string[],
  pathName: (setting: Setting<unknown>) => string,
): ReadonlyMap<string, NameMeaning> {
  const names = new Map<string, NameMeaning>();
  for (const setting of SETTING_LIST) {
    for (const name of valueNames(setting)) {
      names.set(name, { setting, form: "value" });
    }
    if (setting.secret) names.set(pathName(setting), { setting, form: "path" });
  }
  return names;
}
