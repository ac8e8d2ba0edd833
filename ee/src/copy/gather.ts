import { createHash } from "node:crypto";
import type { Clock } from "@covey/core/platform";
import type { ChunkMap } from "./chunk_map.ts";
import type { Chunk } from "./chunk_plan.ts";
import { chooseChunk, type KnownSource } from "./choose_chunk.ts";
import { CopyError, NotHeldError } from "./copy_error.ts";

/** Chunks that may come from a member at once: while one ends and the next is asked for, another flows. */
const LANES = 2;
/** From one alone: a link has to be full with one of them at rest. */
const LANES_OF_FIRST = 3;
/** Chunks that do not match, after which a member is no source any more. */
const MOST_BAD = 3;
const FIRST_REST_MS = 250;
const LONGEST_REST_MS = 5000;

/** A member, or whoever else, that hands out chunks. Nothing of it is trusted. */
export interface ChunkSource {
  /** For the log and for people; one name is one source. */
  readonly name: string;
  /** Whether it says that it has a chunk. */
  has(chunk: Chunk): boolean;
  /** Its key where it gathers the model itself; null, or absent, where it has all. */
  readonly gatherer?: string | null;
  /**
   * Fetch a chunk.
   *
   * @param into Room for a whole chunk.
   * @param arrived Told, as bytes come, how many lie at the front of `into` by
   *   now and stay as they are: so they are hashed while more is on its way.
   * @returns How many bytes came.
   * @throws {NotHeldError} When it does not have it after all.
   */
  fetch(
    chunk: Chunk,
    into: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
    arrived: (count: number) => void,
  ): Promise<number>;
}

/** What gathering needs. */
export interface GatherOptions {
  readonly chunks: readonly Chunk[];
  /** What is here already; each chunk is added once it is written. */
  readonly held: ChunkMap;
  readonly clock: Clock;
  /** This member's key, by which gatherers of one model share the work; absent for alone. */
  readonly self?: string | undefined;
  /** A number in [0, 1): relays have other chunks to give when no two fetch in one order. */
  draw(): number;
  /** Awaited before each chunk, and disposed of after it: the way to hold the work back. */
  pace(bytes: number, signal: AbortSignal): Promise<Disposable>;
  /** Put a chunk that matches where it belongs. The bytes are lent until it resolves. */
  write(chunk: Chunk, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** A chunk did not match. */
  onBad(source: string, chunk: Chunk, isLast: boolean): void;
}

interface Seat {
  source: ChunkSource;
  readonly life: AbortController;
  readonly lanes: Promise<void>[];
  /** Chunks it was asked for and did not give as they are: others are asked first. */
  readonly failed: Set<number>;
}

/**
 * Gathers the chunks of one model from several sources at once. A chunk counts
 * only once it matches its digest and is written; the rarest come first.
 */
export class Gather {
  readonly #options: GatherOptions;
  readonly #seats = new Map<string, Seat>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #bad = new Map<string, number>();
  readonly #inFlight = new Set<number>();
  readonly #done = Promise.withResolvers<void>();
  readonly #longest: number;
  #missing: Chunk[];
  #bell = Promise.withResolvers<void>();

  constructor(options: GatherOptions) {
    this.#options = options;
    this.#longest = options.chunks.reduce(
      (most, { length }) => Math.max(most, length),
      0,
    );
    this.#missing = options.chunks.filter(({ index }) =>
      !options.held.has(index)
    );
    // Heard by `finish`, which may come later.
    this.#done.promise.catch(() => {});
    if (options.held.isComplete) this.#done.resolve();
  }

  /** Names of those who give chunks now. */
  get sources(): readonly string[] {
    return [...this.#seats.keys()];
  }

  /** Use a source, or learn what it has by now. One that gave bad chunks stays out. */
  offer(source: ChunkSource): void {
    if ((this.#bad.get(source.name) ?? 0) >= MOST_BAD) return;
    const known = this.#seats.get(source.name);
    if (known !== undefined) {
      known.source = source;
      return this.#ring();
    }
    const seat: Seat = {
      source,
      life: new AbortController(),
      lanes: [],
      failed: new Set(),
    };
    const lanes = this.#seats.size === 0 ? LANES_OF_FIRST : LANES;
    this.#seats.set(source.name, seat);
    for (let lane = 0; lane < lanes; lane++) {
      seat.lanes.push(this.#work(seat));
    }
  }

  /** Use a source no more. */
  drop(name: string): void {
    const seat = this.#seats.get(name);
    if (seat === undefined) return;
    this.#seats.delete(name);
    seat.life.abort(new NotHeldError("This source is not used any more"));
    const leaving = Promise.all(seat.lanes).then(() => {
      this.#leaving.delete(leaving);
    });
    this.#leaving.add(leaving);
    this.#ring();
  }

  /**
   * Wait until every chunk is here, then stop.
   *
   * @throws {CopyError} When every source gave too many bad chunks.
   * @throws {FileError} When a chunk can not be written.
   */
  async finish(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.#done.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await this.#done.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      for (const name of this.sources) this.drop(name);
      await Promise.all(this.#leaving);
    }
  }

  async #work(seat: Seat): Promise<void> {
    const { clock, held, pace } = this.#options;
    const { signal } = seat.life;
    const buffer = new Uint8Array(this.#longest);
    let restMs = 0;
    try {
      while (!held.isComplete && !signal.aborted) {
        if (restMs > 0) await clock.sleep(restMs, signal);
        const chunk = this.#pick(seat);
        if (chunk === undefined) {
          await this.#bellOr(signal);
          continue;
        }
        this.#inFlight.add(chunk.index);
        try {
          using _turn = await pace(chunk.length, signal);
          restMs = await this.#take(chunk, seat, buffer)
            ? 0
            : restAfter(restMs);
        } finally {
          this.#inFlight.delete(chunk.index);
          this.#ring();
        }
      }
    } catch (error) {
      if (!signal.aborted) this.#done.reject(error);
    }
  }

  /** Returns whether the source answered; what it answered may be bad. */
  async #take(
    chunk: Chunk,
    seat: Seat,
    buffer: Uint8Array<ArrayBuffer>,
  ): Promise<boolean> {
    const { held, write } = this.#options;
    const { source } = seat;
    const hash = createHash("sha256");
    let hashed = 0;
    const arrived = (count: number) => {
      const end = Math.min(count, chunk.length);
      if (end <= hashed) return;
      hash.update(buffer.subarray(hashed, end));
      hashed = end;
    };
    let count: number;
    try {
      const { signal } = seat.life;
      count = await source.fetch(chunk, buffer, signal, arrived);
      arrived(count);
    } catch {
      // Whether it is still a source is told by who offers it.
      seat.failed.add(chunk.index);
      return false;
    }
    if (count !== chunk.length || hash.digest("hex") !== chunk.digest) {
      seat.failed.add(chunk.index);
      this.#blame(source.name, chunk);
      return true;
    }
    if (held.has(chunk.index)) return true;
    await write(chunk, buffer.subarray(0, count));
    held.add(chunk.index);
    this.#missing = this.#missing.filter((one) => one !== chunk);
    if (held.isComplete) this.#done.resolve();
    return true;
  }

  #blame(name: string, chunk: Chunk): void {
    const bad = (this.#bad.get(name) ?? 0) + 1;
    this.#bad.set(name, bad);
    const isLast = bad >= MOST_BAD;
    this.#options.onBad(name, chunk, isLast);
    if (!isLast) return;
    this.drop(name);
    if (this.#seats.size > 0) return;
    this.#done.reject(
      new CopyError(
        `"${name}" sent ${bad} pieces that do not match the model, and no other member has it; check its disk`,
      ),
    );
  }

  #pick(seat: Seat): Chunk | undefined {
    const { draw, self } = this.#options;
    const others = [...this.#seats.values()].filter((one) => one !== seat);
    return chooseChunk({
      missing: this.#missing,
      start: Math.floor(draw() * this.#missing.length),
      isComing: ({ index }) => this.#inFlight.has(index),
      source: knownOf(seat),
      others: others.map(knownOf),
      self: self ?? null,
    });
  }

  #ring(): void {
    const { resolve } = this.#bell;
    this.#bell = Promise.withResolvers();
    resolve();
  }

  async #bellOr(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.#ring();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (!signal.aborted) await this.#bell.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}

function knownOf({ failed, source }: Seat): KnownSource {
  return {
    has: (chunk) => source.has(chunk),
    gatherer: source.gatherer ?? null,
    failed,
  };
}

function restAfter(restMs: number): number {
  return Math.min(LONGEST_REST_MS, Math.max(FIRST_REST_MS, restMs * 2));
}

/** In lower-case hexadecimal. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
