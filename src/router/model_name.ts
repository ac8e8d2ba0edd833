import type { ModelSet } from "../domain/mod.ts";
import { matchesPattern, setFor } from "./model_set.ts";

const LATEST = ":latest";

/** The spellings under which an engine may list one model. */
export interface ModelName {
  readonly asked: string;
  /** The other spelling of a bare name: with `:latest`, or without it. */
  readonly other: string | null;
  /**
   * Further names that an operator declared to mean it, and fallbacks behind
   * them; absent for none. The asked name itself belongs to the first.
   */
  readonly tiers?: readonly (readonly string[])[];
}

/**
 * Read a model name. A bare name and `name:latest` mean the same, and so do the
 * names that a set joins; nothing else is guessed, so that `big` never becomes
 * `big:70b`.
 *
 * @param asked As the caller wrote it.
 * @param sets What the operator declared.
 * @returns Its spellings.
 */
export function parseModelName(
  asked: string,
  sets: readonly ModelSet[] = [],
): ModelName {
  const other = otherSpelling(asked);
  const set = setFor(asked, sets) ??
    (other === null ? undefined : setFor(other, sets));
  return { asked, other, ...(set === undefined ? {} : { tiers: set.tiers }) };
}

/**
 * One key for all spellings of a name.
 *
 * @param asked Any spelling.
 * @returns The name without `:latest`.
 */
export function modelKey(asked: string): string {
  return asked.endsWith(LATEST) ? asked.slice(0, -LATEST.length) : asked;
}

/**
 * Tell which of a name's sets an engine's model belongs to by its name.
 *
 * @param name The name.
 * @param model The engine's own name for its model.
 * @param isPaid Whether its use is paid for: then a pattern counts only where
 * it spells out the name up to its first slash.
 * @returns 0 for the first set; null when it belongs to none.
 */
export function tierOf(
  name: ModelName,
  model: string,
  isPaid = false,
): number | null {
  if (model === name.asked || model === name.other) return 0;
  if (name.tiers === undefined) return null;
  const key = modelKey(model);
  const tier = name.tiers.findIndex((patterns) =>
    patterns.some((one) =>
      matchesPattern(modelKey(one), key) && (!isPaid || spellsOut(one))
    )
  );
  return tier < 0 ? null : tier;
}

function otherSpelling(asked: string): string | null {
  if (asked.endsWith(LATEST)) return modelKey(asked);
  return asked.includes(":") ? null : asked + LATEST;
}

function spellsOut(pattern: string): boolean {
  return pattern.split("*", 1)[0]?.includes("/") === true;
}
