const LATEST = ":latest";

/** The spellings under which an engine may list one model. */
export interface ModelName {
  readonly asked: string;
  /** The other spelling of a bare name: with `:latest`, or without it. */
  readonly other: string | null;
}

/**
 * Read a model name. A bare name and `name:latest` mean the same; nothing else
 * is guessed, so that `big` never becomes `big:70b`.
 *
 * @param asked As the caller wrote it.
 * @returns Its spellings.
 */
export function parseModelName(asked: string): ModelName {
  if (asked.endsWith(LATEST)) {
    return { asked, other: asked.slice(0, -LATEST.length) };
  }
  return { asked, other: asked.includes(":") ? null : asked + LATEST };
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
