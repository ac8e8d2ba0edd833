import type { PrefixChain } from "./prefix_chain.ts";

/** What a prompt left behind in an engine. */
export interface LeftPrefix {
  /** Tokens of the answer, which stand in the cache behind the prompt. */
  readonly answerTokens: number;
  /** Prompts whose state the engine keeps. */
  readonly capacity: number;
  /** Until when it is taken to be there, monotonic. */
  readonly untilMs: number;
}

interface Trace {
  readonly sequence: number;
  readonly answerTokens: number;
  readonly untilMs: number;
}

const MOST_HEADS = 8192;
const MOST_PLACES = 4096;

/**
 * What this entry believes to be in the engines' prompt caches: which heads of
 * prompts it sent where, while their models' keep-alive lasts and as long as
 * not more other prompts went there than the engine keeps. Holds keyed digests
 * and counts, never text. Sole writer: the entry's settled attempts.
 */
export class PrefixBook {
  /** By digest of a head, then by place; the one used last at the end. */
  readonly #heads = new Map<string, Map<string, Trace>>();
  /** Sequences that each place still holds, the latest at the end. */
  readonly #sequences = new Map<string, Set<number>>();
  #lastSequence = 0;

  /**
   * Find what of a prompt is cached, and where.
   *
   * @param chain The prompt.
   * @param nowMs Monotonic time.
   * @returns Tokens by place; nothing for places without any.
   */
  look(chain: PrefixChain, nowMs: number): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    const { marks } = chain;
    for (let at = marks.length - 1; at >= 0; at--) {
      const mark = marks[at];
      if (mark === undefined) continue;
      const traces = this.#heads.get(mark.digest);
      if (traces === undefined) continue;
      for (const [place, trace] of traces) {
        if (found.has(place) || !this.#holds(place, trace, nowMs)) continue;
        const next = marks[at + 1]?.tokens ?? mark.tokens;
        const answer = mark.isAnswered
          ? Math.min(trace.answerTokens, next - mark.tokens)
          : 0;
        found.set(place, mark.tokens + answer);
      }
    }
    this.#lookByName(chain, nowMs, found);
    return found;
  }

  /**
   * Note that an engine has evaluated a prompt.
   *
   * @param place Engine and model.
   * @param chain The prompt.
   * @param left What stays there.
   * @param nowMs Monotonic time.
   */
  keep(
    place: string,
    chain: PrefixChain,
    left: LeftPrefix,
    nowMs: number,
  ): void {
    const sequence = this.#sequenceOf(place, chain, nowMs) ??
      ++this.#lastSequence;
    this.#hold(place, sequence, left.capacity);
    const { answerTokens, untilMs } = left;
    const last = chain.marks.length - 1;
    for (const [at, mark] of chain.marks.entries()) {
      this.#trace(mark.digest, place, {
        sequence,
        answerTokens: at === last ? answerTokens : 0,
        untilMs,
      });
    }
    if (chain.conversation === null) return;
    this.#trace(chain.conversation, place, {
      sequence,
      answerTokens: chain.promptTokens + answerTokens,
      untilMs,
    });
  }

  /** Put a sequence behind all others of its place, which forgets the first beyond what it keeps. */
  #hold(place: string, sequence: number, capacity: number): void {
    const held = this.#sequences.get(place) ?? new Set();
    held.delete(sequence);
    held.add(sequence);
    for (const oldest of held) {
      if (held.size <= Math.max(1, capacity)) break;
      held.delete(oldest);
    }
    this.#sequences.delete(place);
    this.#sequences.set(place, held);
    forgetOldest(this.#sequences, MOST_PLACES);
  }

  /** A named conversation whose head cannot be read may have all but its newest part there. */
  #lookByName(
    { conversation, marks, promptTokens }: PrefixChain,
    nowMs: number,
    found: Map<string, number>,
  ): void {
    if (conversation === null) return;
    const before = marks.at(-2)?.tokens ??
      (marks.length > 0 ? 0 : promptTokens);
    for (const [place, trace] of this.#heads.get(conversation) ?? []) {
      if (!this.#holds(place, trace, nowMs)) continue;
      const tokens = Math.min(trace.answerTokens, before);
      if (tokens > (found.get(place) ?? 0)) found.set(place, tokens);
    }
  }

  /** The sequence at a place that a prompt goes on with. */
  #sequenceOf(
    place: string,
    chain: PrefixChain,
    nowMs: number,
  ): number | undefined {
    const named = chain.conversation === null
      ? undefined
      : this.#heads.get(chain.conversation)?.get(place);
    if (named !== undefined && this.#holds(place, named, nowMs)) {
      return named.sequence;
    }
    // A head that many prompts share begins no sequence: only an earlier whole prompt does.
    for (let at = chain.marks.length - 1; at >= 0; at--) {
      const mark = chain.marks[at];
      if (mark === undefined) continue;
      const trace = this.#heads.get(mark.digest)?.get(place);
      if (trace === undefined || trace.answerTokens === 0) continue;
      if (this.#holds(place, trace, nowMs)) return trace.sequence;
    }
    return undefined;
  }

  #holds(place: string, trace: Trace, nowMs: number): boolean {
    return trace.untilMs > nowMs &&
      this.#sequences.get(place)?.has(trace.sequence) === true;
  }

  #trace(digest: string, place: string, trace: Trace): void {
    const places = this.#heads.get(digest) ?? new Map<string, Trace>();
    this.#heads.delete(digest);
    this.#heads.set(digest, places);
    const before = places.get(place);
    // A shorter prompt that ends here does not undo what a longer one left.
    const keepsAnswer = before?.sequence === trace.sequence &&
      trace.answerTokens === 0;
    places.set(
      place,
      keepsAnswer ? { ...trace, answerTokens: before.answerTokens } : trace,
    );
    forgetOldest(this.#heads, MOST_HEADS);
  }
}

/**
 * Name a place that keeps prompts: one model on one engine.
 *
 * @param engineKey Unique over all nodes.
 * @param model The engine's own name for the model.
 */
export function placeOf(engineKey: string, model: string): string {
  return `${engineKey} ${model}`;
}

function forgetOldest<Value>(map: Map<string, Value>, most: number): void {
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}
