import type {
  LocalModel,
  Log,
  Machine,
  ModelManifest,
  ModelShelf,
} from "@covey/core/domain";
import type { Clock, Entropy, Files } from "@covey/core/platform";
import { keyHashOfCertificate } from "../identity/key_hash.ts";
import type { LinkCredentials } from "../link/dial.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { fetchHeld, fetchManifest } from "./copy_calls.ts";
import { CopyError, CopyPaused, NotHeldError } from "./copy_error.ts";
import { CopyPace } from "./copy_pace.ts";
import { CopyRate } from "./copy_rate.ts";
import type { CopyAsk, CopyState, CopyView } from "./copy_view.ts";
import { arrivingHolding } from "./arriving_holding.ts";
import { checkPartsFolder } from "./begun_copies.ts";
import {
  keepAlong,
  type ModelFolder,
  placeAlong,
  removeParts,
} from "./copy_along.ts";
import { failureOf } from "./copy_failure.ts";
import { checkRoom } from "./disk_gate.ts";
import { Gather } from "./gather.ts";
import type { Holding } from "./holding.ts";
import { Making } from "./making.ts";
import { type KeptAsk, writeKeptAsk } from "./kept_ask.ts";
import { MemberSource } from "./member_source.ts";
import { checkModelName, companionFileNames } from "./model_file_names.ts";
import { PartStore } from "./part_store.ts";

/** How often members are asked what they have by now. */
const LOOK_EVERY_MS = 500;
/** Among members that gather the same model: what one has got is wanted by the others. */
const LOOK_AT_GATHERERS_MS = 200;
/** A copy to which nothing comes for so long is given up; what came stays. */
const STALL_MS = 10 * 60_000;
/** What goes with a model that is here already is waited for less. */
const STALL_ALONG_MS = 20_000;

/** A member that may have the model. */
export interface Candidate {
  readonly name: string;
  readonly channel: MemberChannel;
}

/** What a copy needs of the node. */
export interface JobMeans {
  readonly shelf: ModelShelf;
  readonly files: Files;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly machine: Machine | undefined;
  readonly credentials: LinkCredentials;
  /** Members that answer now. */
  candidates(): readonly Candidate[];
  /** Whether this machine answers callers now. */
  isBusy(): boolean;
  /** Run one after the other: two copies may not take one name at once. */
  inTurn<Result>(act: () => Promise<Result>): Promise<Result>;
}

/** One model on its way here. */
export class CopyJob {
  readonly ask: CopyAsk;
  readonly #means: JobMeans;
  readonly #beside: ModelFolder | null;
  #along: CopyJob | null = null;
  readonly #pace: CopyPace;
  /** Of what is made here: the limit is one for the link. */
  readonly #makingPace: CopyPace;
  #state: CopyState = "queued";
  #message: string | null = null;
  #model: string;
  #manifest: ModelManifest | null = null;
  #parts: PartStore | null = null;
  #gather: Gather | null = null;
  /** Null where the model is no derived one that could be made here. */
  #making: Making | null = null;
  /** Names of all members that were used. */
  readonly #used = new Set<string>();
  #published: readonly string[] | null = null;
  #doneBytes = 0;
  readonly #rate = new CopyRate();
  #progressAtMs = 0;

  /**
   * @param ask What is copied.
   * @param means What it needs.
   * @param beside Folder of the model that it goes with; null for a model.
   */
  constructor(
    ask: CopyAsk,
    means: JobMeans,
    beside: ModelFolder | null = null,
  ) {
    this.ask = ask;
    this.#beside = beside;
    this.#means = means;
    this.#model = ask.model;
    this.#message = ask.reason ?? null;
    const { clock } = means;
    const isBusy = () => means.isBusy();
    const { bytesPerSecond } = ask;
    this.#pace = new CopyPace({ clock, isBusy, bytesPerSecond });
    this.#makingPace = new CopyPace({ clock, isBusy, bytesPerSecond: null });
  }

  /** Where it stands. */
  get state(): CopyState {
    return this.#state;
  }

  /** Whether nothing more happens to it. */
  get hasEnded(): boolean {
    return this.#state === "done" || this.#state === "failed" ||
      this.#state === "cancelled";
  }

  /** What there is to show of it. */
  view(): Omit<CopyView, "id" | "node" | "nodeName"> {
    const along = this.#along?.view();
    return {
      model: this.#model,
      root: this.ask.root,
      state: this.#state,
      doneBytes: this.#doneBytes + (along?.doneBytes ?? 0),
      totalBytes: sizeOf(this.#manifest) + (along?.totalBytes ?? 0),
      bytesPerSecond: this.hasEnded
        ? 0
        : along?.bytesPerSecond ?? Math.round(this.#rate.bytesPerSecond),
      sources: this.hasEnded
        ? [...new Set([...this.#used, ...along?.sources ?? []])]
        : along?.sources ?? this.#members,
      message: this.#message,
    };
  }

  /** Members that give chunks now. */
  get #members(): readonly string[] {
    const sources = this.#gather?.sources ?? [];
    return sources.filter((name) => name !== this.#making?.name);
  }

  /** Why it was asked for, and how it was decided to come by it. */
  get #why(): string | null {
    const why = [this.ask.reason, this.#making?.note].filter((one) => one);
    return why.length === 0 ? null : why.join(". ");
  }

  /** What of the model, or of what goes with it, is here for members; null for nothing. */
  holding(root = this.ask.root): Holding | null {
    if (root !== this.ask.root) return this.#along?.holding(root) ?? null;
    const manifest = this.#manifest;
    const parts = this.#parts;
    const published = this.#published;
    if (manifest === null || (parts === null && published === null)) {
      return null;
    }
    return arrivingHolding(this.#means.files, manifest, parts, published);
  }

  /**
   * Do it. Never rejects: how it went is its state.
   *
   * @param signal Aborting it with a `CopyError` cancels, with `CopyPaused` pauses, with anything else only stops: what came stays.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#means;
    const { model } = this.ask;
    this.#progressAtMs = clock.monotonic();
    try {
      await this.#copy(signal);
      await this.#copyAlong(signal);
      this.#state = "done";
      log.info("A model was copied", {
        model: this.#model,
        sizeBytes: sizeOf(this.#manifest),
      });
    } catch (error) {
      if (signal.aborted && signal.reason instanceof CopyError) {
        this.#state = "cancelled";
        await removeParts(this.#means, this.ask);
        return;
      }
      if (signal.aborted && signal.reason instanceof CopyPaused) {
        await this.pause();
        return;
      }
      this.#state = "failed";
      this.#message = signal.aborted
        ? "The node stopped; it goes on with its next start"
        : `${failureOf(error)}. What came is kept: ask again to go on`;
      if (!signal.aborted) {
        log.warn("A copy failed", { model, reason: reasonOf(error) });
      }
    } finally {
      this.#gather = null;
      this.#parts = null;
    }
  }

  /**
   * Note that it will not even begin, or not go on.
   *
   * @returns False where it runs.
   */
  cancelQueued(): boolean {
    if (this.#state !== "queued" && this.#state !== "paused") return false;
    this.#state = "cancelled";
    return true;
  }

  /** Note that it waits for an operator, so that a restart knows it too. */
  async pause(): Promise<void> {
    const { files, log, shelf } = this.#means;
    const { root } = this.ask;
    this.#state = "paused";
    this.#message = this.ask.reason ?? null;
    try {
      await writeKeptAsk(files, shelf.folder, root, this.#kept(true));
    } catch (error) {
      log.warn(
        "Failed to note that a copy is paused: a restart goes on with it",
        { model: this.ask.model, reason: reasonOf(error) },
      );
    }
  }

  #kept(paused: boolean): KeptAsk {
    const { bytesPerSecond, companions, model } = this.ask;
    return {
      model,
      bytesPerSecond,
      paused,
      ...companions === undefined ? {} : { companions },
      ...this.#beside === null ? {} : { of: this.#beside.root },
    };
  }

  async #copy(signal: AbortSignal): Promise<void> {
    const { files, machine, shelf } = this.#means;
    const { isHere = false, model, root } = this.ask;
    if (isHere) return await shelf.refresh();
    const here = this.#beside === null ? withRoot(shelf, root) : undefined;
    if (here !== undefined) {
      this.#model = here.name;
      this.#message = `It is here already, as "${here.name}"`;
      this.#doneBytes = here.sizeBytes;
      return await PartStore.remove(files, shelf.folder, root);
    }
    checkModelName(model);
    await checkPartsFolder(files, shelf.folder);
    const known = await PartStore.manifestOf(files, shelf.folder, root);
    this.#manifest = { ...known ?? await this.#findManifest(signal), model };
    if (
      known !== null && await PartStore.wasPublished(files, shelf.folder, known)
    ) return await PartStore.remove(files, shelf.folder, root);
    this.#state = "checking";
    using parts = await PartStore.open(
      files,
      shelf.folder,
      this.#manifest,
      signal,
    );
    await writeKeptAsk(files, shelf.folder, root, this.#kept(false));
    this.#doneBytes = parts.heldBytes;
    checkRoom(
      sizeOf(this.#manifest) - this.#doneBytes,
      machine?.reading() ?? null,
    );
    this.#parts = parts;
    await this.#gatherAll(parts, signal);
    await this.#means.inTurn(() => this.#publish(parts));
  }

  /** What goes with the model, into its folder. Where that does not come, the model is here all the same. */
  async #copyAlong(signal: AbortSignal): Promise<void> {
    const { bytesPerSecond, companions, root } = this.ask;
    if (companions === undefined || this.#beside !== null) return;
    const copied = { model: this.#model, root, companions };
    const place = await placeAlong(this.#means, copied);
    if (place.kind === "there") return;
    if (place.kind === "nowhere") return this.#add(place.reason);
    const ask = { root: companions, model: place.model, bytesPerSecond };
    this.#along = new CopyJob(ask, this.#means, place.folder);
    await this.#along.run(signal);
    signal.throwIfAborted();
    const { message, state } = this.#along.view();
    if (state === "failed") this.#add(`What goes with it is not: ${message}`);
  }

  #add(note: string): void {
    this.#message = [this.#message, note].filter((one) => one).join(". ");
  }

  async #findManifest(signal: AbortSignal): Promise<ModelManifest> {
    const { candidates, clock } = this.#means;
    const { root } = this.ask;
    for (;;) {
      let problem = "No member that has it answers";
      for (const { channel, name } of candidates()) {
        try {
          return await fetchManifest(channel, root, { clock, signal });
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof NotHeldError)) {
            problem = `"${name}" gave no manifest: ${reasonOf(error)}`;
          }
        }
      }
      this.#wait(problem);
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }

  async #gatherAll(parts: PartStore, signal: AbortSignal): Promise<void> {
    const { clock, credentials, entropy, log, shelf } = this.#means;
    const { model } = this.ask;
    const making = await Making.open(parts.manifest, {
      shelf,
      clock,
      onFailure: (reason) =>
        log.info("A model is copied that might have been made here", {
          model,
          reason,
        }),
    });
    this.#making = making;
    const gather: Gather = new Gather({
      self: keyHashOfCertificate(credentials.certificatePem),
      chunks: parts.chunks,
      held: parts.held,
      clock,
      draw: () => entropy.float(),
      pace: (bytes, ends) =>
        (making?.needsMembers === false ? this.#makingPace : this.#pace)
          .turn(bytes, ends),
      write: async (chunk, bytes) => {
        await parts.write(chunk, bytes);
        this.#doneBytes += chunk.length;
        this.#progressAtMs = clock.monotonic();
      },
      onBad: (source, { file, offset }, isLast) => {
        if (making?.takeBad(source, gather)) return;
        log.warn(
          isLast
            ? "A member sent too many bytes that do not match a model, and is asked for no more of it"
            : "A member sent bytes that do not match a model; they were dropped",
          { model, member: source, file, offset },
        );
      },
    });
    this.#gather = gather;
    const ended = new AbortController();
    const both = AbortSignal.any([signal, ended.signal]);
    const stalled = new AbortController();
    const looking = this.#look(gather, parts, both).catch((error) => {
      // It ends with the copy; anything else ends the copy.
      if (!both.aborted) stalled.abort(error);
    });
    try {
      await gather.finish(AbortSignal.any([signal, stalled.signal]));
    } finally {
      ended.abort();
      await looking;
      await making?.idle();
      making?.[Symbol.dispose]();
    }
  }

  /** Keep the sources up to date until the copy ends. */
  async #look(
    gather: Gather,
    parts: PartStore,
    signal: AbortSignal,
  ): Promise<void> {
    const { candidates, clock, credentials } = this.#means;
    const { root } = this.ask;
    const making = this.#making;
    const sources = new Map<string, MemberSource>();
    this.#rate.note(clock.monotonic(), this.#doneBytes);
    try {
      for (;;) {
        const named = new Map(candidates().map((one) => [one.name, one]));
        for (const [name, source] of sources) {
          if (named.has(name)) continue;
          gather.drop(name);
          source[Symbol.dispose]();
          sources.delete(name);
        }
        await Promise.all(
          [...named.values()].map(async ({ channel, name }) => {
            try {
              const means = { clock, signal };
              const held = await fetchHeld(
                channel,
                root,
                parts.chunks.length,
                means,
              );
              const source = sources.get(name) ??
                new MemberSource({ name, root, channel, credentials, clock });
              sources.set(name, source);
              source.learn(held);
              if (making?.needsMembers === false) return;
              gather.offer(making?.watched(source) ?? source);
              this.#used.add(name);
            } catch (error) {
              // One that does not answer in time may still be sending.
              if (!(error instanceof NotHeldError)) return;
              gather.drop(name);
            }
          }),
        );
        this.#rate.note(clock.monotonic(), this.#doneBytes);
        making?.look(gather, sources.keys());
        if (gather.sources.length > 0) {
          this.#state = "copying";
          this.#message = this.#why;
        } else this.#wait("No member that has it answers");
        const gatherers = [...sources.values()].filter(({ gatherer }) =>
          gatherer !== null
        );
        const waitMs = gatherers.length > 0
          ? LOOK_AT_GATHERERS_MS
          : LOOK_EVERY_MS;
        await clock.sleep(waitMs, signal);
      }
    } finally {
      for (const source of sources.values()) source[Symbol.dispose]();
    }
  }

  #wait(problem: string): void {
    this.#state = "waiting";
    this.#message = problem;
    const idleMs = this.#means.clock.monotonic() - this.#progressAtMs;
    const mostMs = this.#beside === null ? STALL_MS : STALL_ALONG_MS;
    if (idleMs > mostMs) throw new CopyError(problem);
  }

  async #publish(parts: PartStore): Promise<void> {
    const { shelf } = this.#means;
    const { model, root } = this.ask;
    const manifest = this.#manifest;
    if (this.#beside !== null) {
      const names = companionFileNames(parts.manifest.files);
      this.#published = await parts.publishBeside(this.#beside.path, names);
      return await shelf.refresh();
    }
    await shelf.refresh();
    const other = shelf.list().find(({ name }) => name === model);
    this.#model = other === undefined ? model : `${model}-${root.slice(0, 8)}`;
    this.#message = other === undefined
      ? this.#why
      : `Another model is called "${model}" here, so this one is "${this.#model}"`;
    await keepAlong(this.#means, { ...this.ask, model: this.#model });
    this.#published = await parts.publish(shelf.folder, this.#model);
    if (manifest !== null) this.#manifest = { ...manifest, model: this.#model };
    await shelf.refresh();
    await this.#noteOrigins();
  }

  /** What is known of where the weights are from is passed on; without it they are as good. */
  async #noteOrigins(): Promise<void> {
    const { log, shelf } = this.#means;
    const origins = (this.#manifest?.files ?? []).map(({ origin }) =>
      origin ?? null
    );
    try {
      await shelf.noteOrigins?.(this.#model, origins);
    } catch (error) {
      log.debug("Failed to keep where a copied model is from", {
        model: this.#model,
        reason: reasonOf(error),
      });
    }
  }
}

function withRoot(shelf: ModelShelf, root: string): LocalModel | undefined {
  return shelf.list().find((one) => one.root === root);
}

function sizeOf(manifest: ModelManifest | null): number {
  return manifest?.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) ??
    0;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : "It failed";
}
