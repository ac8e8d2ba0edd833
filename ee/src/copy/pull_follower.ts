import type { NodeId } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { LinkCredentials } from "../link/dial.ts";
import { WireError } from "../link/wire_error.ts";
import { fetchArrivals, formatArrivalPath } from "./arrival_call.ts";
import { MOST_ARRIVALS } from "./arrival_page.ts";
import { ArrivalReader, type OwnSizes } from "./arrival_reader.ts";
import { NotHeldError } from "./copy_error.ts";
import type { Candidate } from "./copy_job.ts";
import type { ChunkSource } from "./gather.ts";
import { BulkSource, type KnownChunks } from "./bulk_source.ts";

/** A member that does not pull the same is asked again after so long. */
const ASK_AGAIN_MS = 1000;
/** Pages that are read in one go: of a model of 128 GB. */
const MOST_PAGES = 64;
/** Lists that contradict themselves, after which a member is not followed any more. */
const MOST_WRONG = 3;

/** A member that may pull the same. */
export interface PullMember extends Candidate {
  readonly node: NodeId;
}

/** What following a member needs. */
export interface FollowerOptions {
  readonly key: string;
  readonly own: OwnSizes;
  readonly member: PullMember;
  readonly credentials: LinkCredentials;
  readonly clock: Clock;
  /** It sent a list that contradicts itself. */
  onWrong(reason: string, isLast: boolean): void;
}

/** A member that may pull the same: what has come to it, and the way to its bytes. */
export class PullFollower implements Disposable {
  readonly reader: ArrivalReader;
  readonly #options: FollowerOptions;
  readonly #member: BulkSource;
  #askAtMs = 0;
  #wrong = 0;

  /** @param options What it needs. */
  constructor(options: FollowerOptions) {
    const { clock, credentials, key, member, own } = options;
    this.#options = options;
    this.reader = new ArrivalReader(own);
    this.#member = new BulkSource({
      name: member.name,
      channel: member.channel,
      credentials,
      clock,
      pathOf: (file) => formatArrivalPath({ kind: "file", key, file }),
    });
  }

  /** Name of the member. */
  get name(): string {
    return this.#options.member.name;
  }

  /** Whether it pulls the same and says what has come. */
  get isPulling(): boolean {
    return this.reader.run !== null;
  }

  /** Ask what has come since the last time. */
  async look(signal: AbortSignal): Promise<void> {
    const { clock, key, member: { channel } } = this.#options;
    if (clock.monotonic() < this.#askAtMs || this.#wrong >= MOST_WRONG) return;
    try {
      for (let pages = 0; pages < MOST_PAGES; pages++) {
        const page = await fetchArrivals(channel, key, this.reader, {
          clock,
          signal,
        });
        this.reader.take(page);
        if (page.arrivals.length < MOST_ARRIVALS) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof WireError) {
        this.reader.reset();
        const isLast = ++this.#wrong >= MOST_WRONG;
        this.#options.onWrong(error.message, isLast);
      } else if (error instanceof NotHeldError) {
        this.reader.reset();
        this.#askAtMs = clock.monotonic() + ASK_AGAIN_MS;
      }
      // One that does not answer in time may still be sending.
    }
  }

  /** It as a source of those of its chunks that are right. */
  source(known: KnownChunks, gathers: boolean): ChunkSource {
    this.#member.learn(known, gathers);
    return this.#member;
  }

  [Symbol.dispose](): void {
    this.#member[Symbol.dispose]();
  }
}
