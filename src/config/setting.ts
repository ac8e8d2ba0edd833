/** What became of the text that somebody gave for a setting. */
export type Verdict<Value> =
  | { readonly kind: "accepted"; readonly value: Value }
  | {
    readonly kind: "refused";
    /** What to do instead, where the setting's own `accepts` does not say it. */
    readonly instead?: string;
  };

/** One thing an operator can say, the same in environment, file and flags. */
export interface Setting<Value> {
  /** Name of the variable; flag and key of covey.jsonc are derived from it. */
  readonly variable: string;
  /** Further names of the variable, read where it is not set itself. */
  readonly aliases?: readonly string[];
  /** What it is for: one sentence without its full stop. */
  readonly about: string;
  /** What is accepted, to be read after "give". */
  readonly accepts: string;
  /** What counts where nobody said anything. */
  readonly fallback: Value;
  /** The fallback in words, where its text does not say it. */
  readonly fallbackText: string;
  /** Never printed, no flag, and a second form `…_FILE` that names a file. */
  readonly secret?: true;
  /** Takes no value as a flag. */
  readonly toggle?: true;
  /**
   * What this setting belongs to, where this build can not do that yet: it is
   * checked, and whoever sets it is told.
   */
  readonly later?: {
    /** To be read before "not part of this build yet". */
    readonly feature: string;
    /** Texts that ask for what this build does anyway. */
    readonly quietFor?: readonly string[];
  };
  /** Read a text that was trimmed and is not empty. */
  parse(text: string): Verdict<Value>;
}

/**
 * Accept a value.
 *
 * @param value What the text means.
 */
export function accept<Value>(
  value: Value,
): { readonly kind: "accepted"; readonly value: Value } {
  return { kind: "accepted", value };
}

/**
 * Refuse a text.
 *
 * @param instead What to do instead, where `accepts` does not say it.
 */
export function refuse(
  instead?: string,
): { readonly kind: "refused"; readonly instead?: string } {
  return instead === undefined
    ? { kind: "refused" }
    : { kind: "refused", instead };
}

/**
 * Read a comma-separated list with the parser of one entry.
 *
 * @param entry Parser of one entry.
 * @param limit Most entries that are accepted.
 */
export function listOf<Value>(
  entry: (text: string) => Verdict<Value>,
  limit: number,
): (text: string) => Verdict<readonly Value[]> {
  return (text) => {
    const values: Value[] = [];
    const parts = text.split(",").map((part) => part.trim());
    for (const part of parts.filter((part) => part !== "")) {
      const verdict = entry(part);
      if (verdict.kind === "refused") return verdict;
      values.push(verdict.value);
    }
    if (values.length === 0) return refuse();
    return values.length > limit
      ? refuse(`give at most ${limit} entries`)
      : accept(values);
  };
}
