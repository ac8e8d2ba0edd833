import type {
  Derivation,
  MadeWeights,
  ModelManifest,
  ModelShelf,
} from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { Chunk } from "./chunk_plan.ts";
import { CopyRate } from "./copy_rate.ts";
import { decideDerived, type DerivedDecision } from "./derived_file.ts";
import type { ChunkSource, Gather } from "./gather.ts";
import { MadeSource } from "./made_source.ts";

/** Over how long a link is watched before its rate counts. */
const SEEN_MS = 1000;
/** A link on which nothing comes for so long carries nothing. */
const NOTHING_MS = 5000;
/** Chunks after which this machine's speed is known: the first one warms up. */
const KNOWN_CHUNKS = 2;

/** What making a model here needs. */
export interface MakingMeans {
  readonly shelf: Pick<ModelShelf, "remake">;
  readonly clock: Clock;
  /** Told where something can not be made after all. */
  onFailure(reason: string): void;
}

/** Where a model that could be made here stands. */
type Standing =
  /** Its link is watched while it is copied. */
  | { readonly kind: "watching"; readonly decision: DerivedDecision | null }
  | { readonly kind: "making"; readonly decision: DerivedDecision }
  /** It is copied, whatever comes. */
  | { readonly kind: "copying"; readonly why: string };

/**
 * One model on its way here that could be made here as well, from its original.
 * It is copied at first; where the link is seen to take longer than making, it
 * is made, and where that turns out slower or gives other bytes, copied again.
 */
export class Making implements Disposable {
  readonly #weights: MadeWeights;
  readonly #derivation: Derivation;
  readonly #sizeBytes: number;
  readonly #file: number;
  readonly #hasMore: boolean;
  readonly #means: MakingMeans;
  readonly #source: MadeSource;
  readonly #rate = new CopyRate();
  readonly #startMs: number;
  #firstMs: number | null = null;
  #arrivedBytes = 0;
  #standing: Standing = { kind: "watching", decision: null };

  private constructor(
    manifest: ModelManifest,
    derived: { readonly file: number; readonly derivation: Derivation },
    weights: MadeWeights,
    means: MakingMeans,
  ) {
    const { clock } = means;
    this.#weights = weights;
    this.#derivation = derived.derivation;
    this.#file = derived.file;
    this.#sizeBytes = weights.sizeBytes;
    this.#hasMore = manifest.files.length > 1;
    this.#means = means;
    this.#startMs = clock.monotonic();
    this.#source = new MadeSource({
      name: `what is made from ${quote(weights.original)}`,
      weights,
      file: derived.file,
      clock,
      onFailure: (error) =>
        this.#giveUp(
          `it can not be made: ${
            error instanceof Error ? error.message : "it failed"
          }`,
        ),
    });
  }

  /**
   * Prepare to make a model, where it is derived, its original is here and the
   * recipe is known; else null, and it is copied.
   */
  static async open(
    manifest: ModelManifest,
    means: MakingMeans,
  ): Promise<Making | null> {
    const file = manifest.files.findIndex(({ origin }) => origin?.derived);
    const derivation = manifest.files[file]?.origin?.derived ?? null;
    if (derivation === null) return null;
    let weights: MadeWeights | null;
    try {
      weights = await means.shelf.remake?.(derivation) ?? null;
    } catch (error) {
      means.onFailure(error instanceof Error ? error.message : "It failed");
      return null;
    }
    if (weights === null) return null;
    if (weights.sizeBytes === manifest.files[file]?.sizeBytes) {
      return new Making(manifest, { file, derivation }, weights, means);
    }
    weights[Symbol.dispose]();
    means.onFailure("It would have another size");
    return null;
  }

  /** Name of this machine among the sources. */
  get name(): string {
    return this.#source.name;
  }

  /** Whether it is made here now. */
  get isMaking(): boolean {
    return this.#standing.kind === "making";
  }

  /** Whether members are to give anything now. */
  get needsMembers(): boolean {
    return !this.isMaking || this.#hasMore;
  }

  /** What was decided, for people; null while nothing was. */
  get note(): string | null {
    const standing = this.#standing;
    const original = quote(this.#weights.original);
    switch (standing.kind) {
      case "watching": {
        const { decision } = standing;
        return decision === null
          ? null
          : `Copied and not made here from ${original}: ${timesOf(decision)}`;
      }
      case "making":
        return `Made here from ${original}: ${timesOf(standing.decision)}`;
      case "copying":
        return `Copied and not made here from ${original}: ${standing.why}`;
      default: {
        const never: never = standing;
        return never;
      }
    }
  }

  /** A member's chunks, counted as they come; none of what is made here. */
  watched(source: ChunkSource): ChunkSource {
    return {
      name: source.name,
      gatherer: source.gatherer ?? null,
      has: (chunk) =>
        (!this.isMaking || chunk.file !== this.#file) && source.has(chunk),
      fetch: (chunk, into, signal, arrived) => {
        let before = 0;
        return source.fetch(chunk, into, signal, (count) => {
          this.#count(chunk, count - before);
          before = count;
          arrived(count);
        });
      },
    };
  }

  /**
   * Decide anew by what was seen since. To be called now and then.
   *
   * @param gather Whose sources change by that.
   * @param members Names of the members among its sources.
   */
  look(
    gather: Pick<Gather, "drop" | "offer">,
    members: Iterable<string>,
  ): void {
    const nowMs = this.#means.clock.monotonic();
    switch (this.#standing.kind) {
      case "watching": {
        if (this.#firstMs !== null) this.#rate.note(nowMs, this.#arrivedBytes);
        const decision = this.#decide(nowMs);
        if (decision.copyMs === null) return;
        if (decision.kind === "copy") {
          this.#standing = { kind: "watching", decision };
          return;
        }
        this.#standing = { kind: "making", decision };
        // What is on its way from them is given up; they are offered again for the rest.
        for (const name of members) gather.drop(name);
        return gather.offer(this.#source);
      }
      case "making": {
        const { chunks } = this.#source.made;
        if (chunks < KNOWN_CHUNKS) return;
        const { copyMs } = this.#standing.decision;
        const decision = { ...this.#decide(nowMs), copyMs };
        if (copyMs !== null && copyMs <= decision.makeMs) {
          this.#giveUp(timesOf(decision));
          return gather.drop(this.name);
        }
        this.#standing = { kind: "making", decision };
        return;
      }
      case "copying":
        return gather.drop(this.name);
      default: {
        const never: never = this.#standing;
        return never;
      }
    }
  }

  /**
   * Take notice of a chunk that did not match.
   *
   * @returns Whether it was made here: then it is copied from now on.
   */
  takeBad(source: string, gather: Pick<Gather, "drop">): boolean {
    if (source !== this.name) return false;
    this.#giveUp("what was made has other bytes");
    gather.drop(source);
    return true;
  }

  /** Resolves once the original is read no more; dispose after that. */
  async idle(): Promise<void> {
    this.#source.leave();
    await this.#source.idle();
  }

  [Symbol.dispose](): void {
    this.#weights[Symbol.dispose]();
  }

  #count({ file }: Chunk, bytes: number): void {
    if (file !== this.#file || bytes <= 0) return;
    if (this.#firstMs === null) {
      this.#firstMs = this.#means.clock.monotonic();
      this.#rate.note(this.#firstMs, 0);
    }
    this.#arrivedBytes += bytes;
  }

  #decide(nowMs: number): DerivedDecision {
    const { bytes, chunks, spentMs } = this.#source.made;
    const thereMs = this.#derivation.tookMs * bytes / this.#sizeBytes;
    const isKnown = chunks >= KNOWN_CHUNKS && spentMs > 0 && thereMs > 0;
    return decideDerived({
      sizeBytes: this.#sizeBytes,
      derivation: this.#derivation,
      linkBytesPerSecond: this.#seenRate(nowMs),
      relativeSpeed: isKnown ? thereMs / spentMs : 1,
    });
  }

  /** Null while too little was seen of the link. */
  #seenRate(nowMs: number): number | null {
    if (this.#firstMs === null) {
      return nowMs - this.#startMs < NOTHING_MS ? null : 0;
    }
    return nowMs - this.#firstMs < SEEN_MS ? null : this.#rate.bytesPerSecond;
  }

  #giveUp(why: string): void {
    this.#source.leave();
    this.#standing = { kind: "copying", why };
    this.#means.onFailure(why);
  }
}

function timesOf({ copyMs, makeMs }: DerivedDecision): string {
  const copying = copyMs === Infinity
    ? "nothing comes over the link"
    : `copying takes ${seconds(copyMs ?? 0)} by what its link carries`;
  return `${copying}, making ${seconds(makeMs)}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

function quote(name: string): string {
  return JSON.stringify(name);
}
