import type { Log, NodeId, PullParts } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { ArrivalReader } from "./arrival_reader.ts";
import { ChunkMap } from "./chunk_map.ts";
import { type Chunk, planSizes } from "./chunk_plan.ts";
import { CopyError } from "./copy_error.ts";
import { CopyRate } from "./copy_rate.ts";
import { type ChunkSource, Gather } from "./gather.ts";
import type { PullFollower, PullMember } from "./pull_follower.ts";

/** How often members that pull the same are asked what has come. */
const LOOK_EVERY_MS = 200;
/** How long what others have is waited for, once none of it comes. */
const DRAIN_MS = 5000;

/** A member that may pull the same, as the relay sees it. */
export interface Follower
  extends
    Pick<PullFollower, "name" | "isPulling" | "reader" | "look" | "source">,
    Disposable {}

/** What relaying needs. */
export interface RelayOptions {
  readonly parts: PullParts;
  /** For the log. */
  readonly model: string;
  /** This member's key, by which those that gather share the work. */
  readonly self: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Members that answer now. */
  members(): readonly PullMember[];
  /** Make the way to one of them. */
  follower(
    member: PullMember,
    onWrong: (reason: string, isLast: boolean) => void,
  ): Follower;
  /** A number in [0, 1). */
  draw(): number;
  /** Awaited before each chunk, and disposed of after it. */
  pace(bytes: number, signal: AbortSignal): Promise<Disposable>;
}

/** Who says which bytes are right. */
export interface Authority {
  /** Another one where it says something else. */
  readonly id: string;
  /** How many of the pull's files it knows. */
  readonly files: number;
  /** Digest of a chunk; empty while it is not known. */
  digestOf(file: number, position: number): string;
}

/** A finished model, and members that have it. */
export interface FinishedModel extends Authority {
  readonly sources: readonly (ChunkSource & Disposable)[];
}

interface Gathering {
  readonly authority: Authority;
  readonly chunks: readonly Chunk[];
  readonly held: ChunkMap;
  readonly gather: Gather;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Takes what has come of a pull from members that do not have all of it either.
 * Which bytes are right is said by the one that fetches them, chunk by chunk as
 * they come to it; once it is at its end, by its model. That is for now: whole
 * files are compared with what their source published before they count. What
 * was taken and is not what a later authority says is taken anew.
 */
export class PullRelay implements AsyncDisposable {
  readonly #options: RelayOptions;
  readonly #life = new AbortController();
  readonly #followers = new Map<NodeId, Follower>();
  readonly #rate = new CopyRate();
  /** Authorities of which no source has the bytes that they speak of. */
  readonly #shunned = new Set<string>();
  /** Chunks here that are what the authority says. */
  #checked = new Set<number>();
  #leader: NodeId | null = null;
  #leadingBy: {
    readonly reader: ArrivalReader;
    readonly run: string;
    readonly authority: Authority;
  } | null = null;
  #finished: FinishedModel | null = null;
  #gathering: Gathering | null = null;
  #failure: { readonly error: unknown } | null = null;
  readonly #from = new Set<string>();
  /** Members that are sources as those that pull. */
  readonly #offered = new Set<NodeId>();
  readonly #working: Promise<void>;

  /** @param options What it needs. */
  constructor(options: RelayOptions) {
    this.#options = options;
    const { signal } = this.#life;
    this.#working = this.#work(signal).catch((error) => {
      if (!signal.aborted) this.#failure ??= { error };
    });
  }

  /** Believe what a member says that fetches, or will. */
  follow(leader: NodeId): void {
    this.#leader = leader;
    this.#forgetFinished();
  }

  /** Believe a finished model, and take what is missing from those that have it too. */
  finish(model: FinishedModel): void {
    this.#forgetFinished();
    this.#finished = model;
  }

  /** Names of members that gave bytes. */
  get from(): readonly string[] {
    return [...this.#from];
  }

  /** Bytes a second over the last seconds. */
  get bytesPerSecond(): number {
    return Math.round(this.#rate.bytesPerSecond);
  }

  /**
   * Whether all is here, as the authority says.
   *
   * @throws {FileError} When a chunk can not be written.
   */
  get isComplete(): boolean {
    if (this.#failure !== null) throw this.#failure.error;
    const gathering = this.#gathering;
    return gathering !== null && gathering.held.isComplete &&
      (this.#finished === null || gathering.authority === this.#finished);
  }

  /** Whether nobody has the bytes that a finished model says. */
  isShunned(id: string): boolean {
    return this.#shunned.has(id);
  }

  /**
   * Take what members have that gather too, before this node fetches the rest.
   *
   * @throws {FileError} When a chunk can not be written.
   */
  async drain(signal: AbortSignal): Promise<void> {
    const { clock, parts } = this.#options;
    let bytes = -1;
    let sinceMs = clock.monotonic();
    while (!this.isComplete && this.#hasMore()) {
      if (parts.arrivedBytes !== bytes) sinceMs = clock.monotonic();
      bytes = parts.arrivedBytes;
      if (clock.monotonic() - sinceMs > DRAIN_MS) return;
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new DOMException("The relay ended", "AbortError"));
    await this.#working;
    await this.#stopGather();
    this.#forgetFinished();
    for (const follower of this.#followers.values()) follower[Symbol.dispose]();
    this.#followers.clear();
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { clock, parts } = this.#options;
    for (;;) {
      await this.#look(signal);
      await this.#reconcile(signal);
      this.#offer();
      this.#rate.note(clock.monotonic(), parts.arrivedBytes);
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { follower: followerOf, log, members, model } = this.#options;
    const there = new Map(members().map((one) => [one.node, one]));
    for (const [node, follower] of this.#followers) {
      if (there.has(node)) continue;
      this.#gathering?.gather.drop(follower.name);
      follower[Symbol.dispose]();
      this.#followers.delete(node);
      this.#offered.delete(node);
    }
    for (const [node, member] of there) {
      if (this.#followers.has(node)) continue;
      const onWrong = (reason: string, isLast: boolean) =>
        log.warn(
          isLast
            ? "A member contradicts itself about what it pulls, and is not followed any more"
            : "A member contradicts itself about what it pulls",
          { model, member: member.name, reason },
        );
      this.#followers.set(node, followerOf(member, onWrong));
    }
    await Promise.all(
      [...this.#followers.values()].map((follower) => follower.look(signal)),
    );
  }

  #authority(): Authority | null {
    const authority = this.#finished ?? this.#leading();
    return authority === null || this.#shunned.has(authority.id)
      ? null
      : authority;
  }

  #leading(): Authority | null {
    const reader = this.#leader === null
      ? undefined
      : this.#followers.get(this.#leader)?.reader;
    if (reader === undefined || reader.run === null) return null;
    const { files, run } = reader;
    const known = this.#leadingBy;
    if (known?.reader === reader && known.run === run) return known.authority;
    const authority = {
      id: `${this.#leader} ${run}`,
      files,
      digestOf: (file: number, position: number) =>
        reader.digestOf(file, position) ?? "",
    };
    this.#leadingBy = { reader, run, authority };
    return authority;
  }

  /** Where the authority is another one, or what is here is not what it says, the rest is gathered anew. */
  async #reconcile(signal: AbortSignal): Promise<void> {
    const { parts } = this.#options;
    const authority = this.#authority();
    if (authority === null) return;
    const known = this.#gathering?.authority === authority
      ? this.#gathering
      : null;
    if (known === null) {
      // What it still writes is held against the new one.
      await this.#stopGather();
      this.#checked = new Set();
    }
    const chunks = known?.chunks ??
      planSizes(parts.sizes.slice(0, authority.files), authority.digestOf);
    const wrong: Chunk[] = [];
    for (const chunk of chunks) {
      const { digest, index } = chunk;
      if (digest === "" || this.#checked.has(index) || !parts.has(chunk)) {
        continue;
      }
      signal.throwIfAborted();
      if (await parts.digest(chunk) === digest) this.#checked.add(index);
      else wrong.push(chunk);
    }
    if (known !== null && wrong.length === 0) return;
    await this.#stopGather();
    await parts.drop(wrong);
    this.#gathering = this.#gather(authority, chunks);
  }

  #gather(authority: Authority, chunks: readonly Chunk[]): Gathering {
    const { clock, draw, log, model, pace, parts, self } = this.#options;
    const held = new ChunkMap(chunks.length);
    for (const chunk of chunks) if (parts.has(chunk)) held.add(chunk.index);
    const gather = new Gather({
      self,
      chunks,
      held,
      clock,
      draw,
      pace,
      write: async (chunk, bytes) => {
        const { digest, file, index, position } = chunk;
        await parts.write({ file, position }, bytes, digest);
        this.#checked.add(index);
      },
      onBad: (member, { file, offset }) =>
        log.warn(
          "A member sent bytes that do not match a pull; they were dropped",
          { model, member, file, offset },
        ),
    });
    const stop = new AbortController();
    const ended = gather.finish(stop.signal).catch((error) => {
      if (stop.signal.aborted) return;
      if (error instanceof CopyError) this.#shunned.add(authority.id);
      else this.#failure ??= { error };
    });
    return { authority, chunks, held, gather, stop, ended };
  }

  async #stopGather(): Promise<void> {
    const gathering = this.#gathering;
    this.#gathering = null;
    gathering?.stop.abort(
      new DOMException("Others are right now", "AbortError"),
    );
    await gathering?.ended;
  }

  #offer(): void {
    const gathering = this.#gathering;
    if (gathering === null || gathering.held.isComplete) return;
    const { chunks, gather } = gathering;
    for (const [node, follower] of this.#followers) {
      if (!follower.isPulling) {
        // By then it may be there as one that has the model.
        if (this.#offered.delete(node)) gather.drop(follower.name);
        continue;
      }
      this.#offered.add(node);
      const known = {
        has: (index: number) => isSame(follower, chunks[index]),
      };
      const source = follower.source(known, node !== this.#leader);
      gather.offer(this.#noting(source));
    }
    for (const source of this.#finished?.sources ?? []) {
      gather.offer(this.#noting(source));
    }
  }

  /** Who gave bytes is told of in the end. */
  #noting(source: ChunkSource): ChunkSource {
    return {
      name: source.name,
      gatherer: source.gatherer ?? null,
      has: (chunk) => source.has(chunk),
      fetch: async (...asked) => {
        const count = await source.fetch(...asked);
        this.#from.add(source.name);
        return count;
      },
    };
  }

  #hasMore(): boolean {
    const gathering = this.#gathering;
    if (gathering === null) return false;
    const { chunks, held } = gathering;
    return chunks.some((chunk) =>
      !held.has(chunk.index) &&
      [...this.#followers.values()].some((one) => isSame(one, chunk))
    );
  }

  #forgetFinished(): void {
    for (const source of this.#finished?.sources ?? []) {
      this.#gathering?.gather.drop(source.name);
      source[Symbol.dispose]();
    }
    this.#finished = null;
  }
}

/** Whether a member says that it has the right bytes of a chunk. */
function isSame({ reader }: Follower, chunk: Chunk | undefined): boolean {
  return chunk !== undefined && chunk.digest !== "" &&
    reader.digestOf(chunk.file, chunk.position) === chunk.digest;
}
