import { escapeUnprintable } from "../domain/mod.ts";
import type { NameMeaning } from "./setting_names.ts";

/** A setting as somebody gave it, before it is read. */
export interface Given {
  readonly meaning: NameMeaning;
  readonly text: string;
  /** How errors and notices name the place it was given in. */
  readonly place: string;
}

/** Why the node can not start: one line that names the setting. */
export interface BadConfig {
  readonly kind: "bad";
  /** The variable; `--…` for a flag that does not exist, `covey.jsonc` for the file itself. */
  readonly variable: string;
  /** One line for the terminal. */
  readonly line: string;
  /** Whether the system denied it to this user; absent for no. */
  readonly denied?: boolean;
}

/** What one source (flags, environment, covey.jsonc) said. */
export type Reading =
  | {
    readonly kind: "read";
    readonly given: readonly Given[];
    /** What the operator should know although it stops nothing. */
    readonly notices: readonly string[];
  }
  | BadConfig;

/**
 * Make a refusal.
 *
 * @param variable What it is about.
 * @param line One line for the terminal.
 */
export function bad(variable: string, line: string): BadConfig {
  return { kind: "bad", variable, line };
}

/**
 * Quote a value for one line of a terminal: escaped, and cut at 80 characters.
 *
 * @param text The value; never a secret.
 */
export function quote(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return escapeUnprintable(JSON.stringify(short));
}
