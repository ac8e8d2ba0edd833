import type { ModelSet } from "../domain/mod.ts";
import { bad, type BadConfig, quote } from "./given.ts";

/** The sets of covey.jsonc, or what is wrong with them. */
export type ModelSets =
  | { readonly kind: "read"; readonly sets: readonly ModelSet[] }
  | BadConfig;

const MOST_SETS = 1_024;
const MOST_TIERS = 64;
const MOST_NAMES = 256;
const LONGEST_NAME = 512;

/**
 * Parse `models` of covey.jsonc (design.md 6): each name is joined with a list
 * of names that mean the same model, or with a list of such lists, of which a
 * later one serves when nobody of an earlier one can.
 *
 * @param value The parsed JSON.
 */
export function parseModelSets(value: unknown): ModelSets {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return wrong("must map names to lists of names");
  }
  const entries = Object.entries(value);
  if (entries.length > MOST_SETS) {
    return wrong(`holds ${entries.length} names; give at most ${MOST_SETS}`);
  }
  const sets: ModelSet[] = [];
  for (const [name, list] of entries) {
    const tiers = tiersOf(list);
    if (!isName(name) || tiers === undefined) {
      return wrong(
        `${
          quote(name.slice(0, LONGEST_NAME))
        }: give a list of model names, or a list of such lists with the one to use first at the front`,
      );
    }
    sets.push({ name, tiers });
  }
  return { kind: "read", sets };
}

function tiersOf(value: unknown): readonly (readonly string[])[] | undefined {
  if (isNames(value)) return [value];
  if (!Array.isArray(value) || value.length > MOST_TIERS) return undefined;
  return value.length > 0 && value.every(isNames) ? value : undefined;
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 &&
    value.length <= MOST_NAMES && value.every(isName);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" &&
    value.length <= LONGEST_NAME;
}

function wrong(problem: string): BadConfig {
  return bad("covey.jsonc", `covey.jsonc "models" ${problem}`);
}
