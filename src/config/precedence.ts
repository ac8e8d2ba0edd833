import { FileError } from "../platform/mod.ts";
import { resolvePath } from "./folder_path.ts";
import { bad, type BadConfig, type Given, quote } from "./given.ts";
import type { Setting } from "./setting.ts";
import { SETTINGS } from "./settings.ts";

/** What counts, by variable. */
export type Chosen = ReadonlyMap<string, Given>;

const LONGEST_SECRET_FILE = 65_536;

/**
 * Let earlier sources win over later ones.
 *
 * @param sources What each said: flags, then environment, then file.
 * @returns One text a setting, or a refusal where one source gives it twice.
 */
export function choose(
  sources: readonly (readonly Given[])[],
): { readonly kind: "chosen"; readonly chosen: Chosen } | BadConfig {
  const chosen = new Map<string, Given>();
  for (const source of sources) {
    const here = new Map<string, Given>();
    for (const given of source) {
      const { variable } = given.meaning.setting;
      const other = here.get(variable);
      const same = other?.text === given.text &&
        other.meaning.form === given.meaning.form;
      if (other !== undefined && !same) {
        const places = other.place === given.place
          ? `given twice`
          : `set twice, by ${other.place} and ${given.place}`;
        return bad(variable, `${variable}: ${places}; keep one`);
      }
      here.set(variable, other ?? given);
    }
    for (const [variable, given] of here) {
      if (!chosen.has(variable)) chosen.set(variable, given);
    }
  }
  return { kind: "chosen", chosen };
}

/** What finding a file needs. */
export interface PathContext {
  readonly cwd: string;
  readonly home: string | undefined;
  readFile(path: string): Promise<string>;
}

/**
 * Put the content of secret files in the place of their paths.
 *
 * @param chosen What counts.
 * @param context Where paths start and how files are read.
 * @returns The same with texts alone, or a refusal that names the file.
 */
export async function readSecretFiles(
  chosen: Chosen,
  context: PathContext,
): Promise<
  { readonly kind: "chosen"; readonly chosen: Chosen } | BadConfig
> {
  const read = new Map<string, Given>();
  for (const [variable, given] of chosen) {
    if (!isPath(given)) {
      read.set(variable, given);
      continue;
    }
    const path = resolvePath(given.text, context.cwd, context.home);
    let text: string;
    try {
      text = (await context.readFile(path)).trim();
    } catch (error) {
      const reason = error instanceof FileError ? ` (${error.reason})` : "";
      return bad(
        variable,
        `${given.place}: ${
          quote(path)
        } can not be read${reason}; give the path of a file that holds ${given.meaning.setting.accepts}`,
      );
    }
    if (text === "" || text.length > LONGEST_SECRET_FILE) {
      return bad(
        variable,
        `${given.place}: ${quote(path)} is ${
          text === "" ? "empty" : "too large"
        }; it must hold ${given.meaning.setting.accepts}`,
      );
    }
    read.set(variable, { ...given, text });
  }
  return { kind: "chosen", chosen: read };
}

/**
 * Read one setting.
 *
 * @param chosen What counts, secret files read.
 * @param setting Which.
 * @returns Its value, its fallback where nobody said anything, or a refusal.
 */
export function readSetting<Value>(
  chosen: Chosen,
  setting: Setting<Value>,
): { readonly kind: "value"; readonly value: Value } | BadConfig {
  const given = chosen.get(setting.variable);
  if (given === undefined) return { kind: "value", value: setting.fallback };
  const verdict = setting.parse(given.text);
  if (verdict.kind === "accepted") {
    return { kind: "value", value: verdict.value };
  }
  const what = setting.secret ? "the value" : quote(given.text);
  const advice = verdict.instead ?? `give ${setting.accepts}`;
  return bad(
    setting.variable,
    `${given.place}: ${what} is not accepted; ${advice}`,
  );
}

/** COVEY_LICENCE takes text or path: no licence begins as a path does. */
function isPath({ meaning, text }: Given): boolean {
  return meaning.form === "path" ||
    (meaning.setting === SETTINGS.licence &&
      /^(?:\/|~\/|\.{1,2}\/)/.test(text));
}
