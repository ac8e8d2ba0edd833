import type { Log, PullParts } from "@covey/core/domain";
import {
  type Arrival,
  type ArrivalPage,
  emptyHash,
  extendHash,
  MOST_ARRIVALS,
} from "./arrival_page.ts";

/** What the list of a pull's arrivals needs. */
export interface ArrivalLogOptions {
  readonly parts: PullParts;
  readonly log: Log;
  /** A new name for a list: 32 hexadecimal digits. */
  name(): string;
  /** Awaited before a chunk is digested, and disposed of after it: the way to hold the work back. */
  pace(): Promise<Disposable>;
}

/**
 * The list of what has come to this node of what it pulls, with digests. They
 * are made while somebody asks, and not else.
 */
export class ArrivalLog implements Disposable {
  readonly #options: ArrivalLogOptions;
  #run: string;
  /** Which state of the parts the list is about. */
  #partsRun: number;
  #arrivals: Arrival[] = [];
  /** Of the list up to each arrival, the empty one first. */
  #hashes: string[];
  readonly #digests = new Map<string, string>();
  #working: Promise<void> | null = null;
  #bell = Promise.withResolvers<void>();
  #isClosed = false;

  /** @param options What it needs. */
  constructor(options: ArrivalLogOptions) {
    this.#options = options;
    this.#run = options.name();
    this.#partsRun = options.parts.run;
    this.#hashes = [emptyHash(this.#run, options.parts.sizes)];
  }

  /**
   * What came after what a member knows. Where nothing is digested of that yet,
   * the first of it is waited for.
   *
   * @param run The list it knows; null for none.
   * @param count How many arrivals of that it knows.
   */
  async page(run: string | null, count: number): Promise<ArrivalPage> {
    this.#follow();
    if (!this.#isClosed) {
      this.#working ??= this.#work().finally(() => {
        this.#working = null;
      });
      if (run === this.#run && count === this.#arrivals.length) {
        await Promise.race([this.#working, this.#bell.promise]);
        this.#follow();
      }
    }
    const known = run === this.#run && count <= this.#arrivals.length;
    const from = known ? count : 0;
    const arrivals = this.#arrivals.slice(from, from + MOST_ARRIVALS);
    return {
      run: this.#run,
      from,
      sizes: this.#options.parts.sizes,
      arrivals,
      hash: this.#hashes[from + arrivals.length] ?? "",
    };
  }

  /** Digest of a chunk as the list says; empty for none. */
  digestOf(file: number, position: number): string {
    this.#follow();
    return this.#digests.get(`${file} ${position}`) ?? "";
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
  }

  /** Where chunks count no more, the list begins anew under another name. */
  #follow(): void {
    const { name, parts } = this.#options;
    if (parts.run === this.#partsRun) return;
    this.#partsRun = parts.run;
    this.#run = name();
    this.#arrivals = [];
    this.#digests.clear();
    this.#hashes = [emptyHash(this.#run, parts.sizes)];
  }

  async #work(): Promise<void> {
    const { log, pace, parts } = this.#options;
    try {
      while (!this.#isClosed) {
        this.#follow();
        const run = this.#run;
        const place = parts.arrived[this.#arrivals.length];
        if (place === undefined) return;
        using _turn = await pace();
        const digest = await parts.digest(place);
        this.#follow();
        if (run !== this.#run) continue;
        if (digest === null) return;
        const arrival = { ...place, digest };
        this.#arrivals.push(arrival);
        this.#digests.set(`${place.file} ${place.position}`, digest);
        this.#hashes.push(extendHash(this.#hashes.at(-1) ?? "", arrival));
        this.#bell.resolve();
        this.#bell = Promise.withResolvers();
      }
    } catch (error) {
      // Asked again, it tries again; the pull itself tells of a broken disk.
      log.debug("Failed to digest what has come of a pull", {
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }
}
