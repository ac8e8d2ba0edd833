/** What a gate lets through. */
export interface Passed {
  /** Text that may be shown. */
  readonly text: string;
  /** The stop string that was met, or null; nothing passes after it. */
  readonly stop: string | null;
}

/**
 * Lets text through except what may turn out to be the beginning of a stop
 * string; a stop string itself never passes, also when it spans tokens.
 */
export class TextGate {
  readonly #stops: readonly string[];
  #held = "";
  #closed = false;

  /**
   * @param stops Strings at which to stop; empty ones are left out.
   */
  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== "");
  }

  /** Text that is held back at the moment. */
  get held(): string {
    return this.#held;
  }

  /**
   * Put text in.
   *
   * @param text The next piece.
   * @returns What passes. The earliest stop string wins, of several at one place the longest.
   */
  push(text: string): Passed {
    if (this.#closed) return { text: "", stop: null };
    const whole = this.#held + text;
    let firstAt = Infinity;
    let met: string | null = null;
    for (const stop of this.#stops) {
      const at = whole.indexOf(stop);
      if (at < 0 || at > firstAt) continue;
      if (at === firstAt && met !== null && met.length >= stop.length) continue;
      firstAt = at;
      met = stop;
    }
    if (met !== null) {
      this.#closed = true;
      this.#held = whole.slice(firstAt + met.length);
      return { text: whole.slice(0, firstAt), stop: met };
    }
    const passing = whole.length - heldLength(whole, this.#stops);
    this.#held = whole.slice(passing);
    return { text: whole.slice(0, passing), stop: null };
  }

  /**
   * End the text.
   *
   * @returns What was held back and belongs to the text after all; behind a stop, what followed it.
   */
  flush(): string {
    const rest = this.#held;
    this.#held = "";
    this.#closed = true;
    return rest;
  }
}

/** Length of the longest end of the text that begins some stop string. */
function heldLength(text: string, stops: readonly string[]): number {
  let longest = 0;
  for (const stop of stops) {
    const most = Math.min(stop.length - 1, text.length);
    for (let length = most; length > longest; length--) {
      if (stop.startsWith(text.slice(text.length - length))) {
        longest = length;
        break;
      }
    }
  }
  return longest;
}
