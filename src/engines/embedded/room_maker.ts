import {
  type Eviction,
  Fault,
  type LocalModel,
  type MemoryNeed,
  type Misfit,
  neededMemory,
} from "../../domain/mod.ts";
import { orAborted } from "../or_aborted.ts";
import type { SupervisorStatus } from "../supervision.ts";
import type { EmbeddedEngineOptions } from "./embedded_options.ts";
import {
  contextWithin,
  largestContext,
  leastContext,
  memoryNeed,
  usualContext,
} from "./memory_need.ts";
import { chooseVictim, roomFor, victimsFor } from "./memory_room.ts";

/** A model that is in memory, or on its way into or out of it. */
export interface HeldModel {
  readonly model: LocalModel;
  readonly isPinned: boolean;
  status(): SupervisorStatus;
  /** Take it out of memory, unless it is used; resolves with whether it went. */
  stopIfIdle(): Promise<boolean>;
}

/** What is known of a model on this machine, however it stands. */
interface Reckoned {
  /** What it was reckoned with. */
  readonly totalBytes: number | null;
  readonly usual: number;
  readonly largest: number;
  /** The shortest context that it is loaded with. */
  readonly least: number;
  readonly leastBytes: number;
}

/** Of models that compute only the end of their answers can be waited for. */
const LOOK_EVERY_MS = 200;
const LONGEST_WAIT_MS = 300_000;
/** Memory of other programs may come back at any time. */
const MISFIT_RETRY_MS = 5_000;

/**
 * Sees to it that models fit into memory: says what each takes, makes room for
 * one at a time, and says which can not be had.
 */
export class RoomMaker {
  readonly #options: EmbeddedEngineOptions;
  readonly #held: () => readonly HeldModel[];
  /** Memory for models, free or held by them, as of the last load; null before. */
  #roomBytes: number | null = null;
  /** File pages that processes have mapped, which the system counts as free; as of the last load. */
  #mappedBytes = 0;
  /** What was reckoned of a model: views ask for it at every placement. */
  readonly #reckoned = new WeakMap<LocalModel, Reckoned>();
  /** Room is made for one model at a time. */
  #turns: Promise<unknown> = Promise.resolve();
  /** A model whose load waits for others to end their answers. */
  #claim:
    | { readonly name: string; readonly over: PromiseWithResolvers<void> }
    | null = null;

  /**
   * @param options The engine's.
   * @param held Models in memory.
   */
  constructor(
    options: EmbeddedEngineOptions,
    held: () => readonly HeldModel[],
  ) {
    this.#options = options;
    this.#held = held;
  }

  /** Tokens of context a slot gets where nobody asks for more. */
  usual(model: LocalModel): number {
    return this.#reckon(model).usual;
  }

  /** Tokens of context that a request may ask for. */
  largest(model: LocalModel): number {
    return this.#reckon(model).largest;
  }

  /** What a model takes with a context. */
  need(model: LocalModel, contextLength: number): MemoryNeed {
    return memoryNeed(model, contextLength, this.#options.slots);
  }

  /**
   * What a load of a model would push out of memory, foreseen from what was
   * free at the last load.
   */
  evictions(model: LocalModel): readonly Eviction[] {
    if (this.#roomBytes === null) return [];
    const { clock, keepAliveMs } = this.#options;
    const residents = this.#residents(model);
    const held = residents.reduce((sum, { bytes }) => sum + bytes, 0);
    const needed = roomFor(this.#bytes(model, this.usual(model))) +
      this.#loadingBytes(model);
    return victimsFor(this.#roomBytes - held, needed, residents).map((one) => ({
      model: one.name,
      reloadMs: one.loadTimeMs,
      idleMs: Math.max(0, clock.monotonic() - one.lastUsedMs),
      ...(Number.isFinite(keepAliveMs) ? { keepMs: keepAliveMs } : {}),
    }));
  }

  /** Why a model that is not in memory can not be loaded, as far as the last reading of the machine tells. */
  misfit(model: LocalModel): Misfit | null {
    const { availableMemoryBytes, totalMemoryBytes } = this.#options;
    const totalBytes = totalMemoryBytes?.() ?? null;
    const { leastBytes, least } = this.#reckon(model);
    if (totalBytes !== null && leastBytes > totalBytes) {
      return {
        reason: `${this.#described(model, least)}, and this node may use ${
          gigabytes(totalBytes)
        } GB of memory in all`,
        retryInMs: null,
      };
    }
    const freeBytes = availableMemoryBytes?.() ?? null;
    if (freeBytes === null) return null;
    const unheldBytes = freeBytes - this.#mappedBytes;
    if (leastBytes <= unheldBytes) return null;
    const roomBytes = unheldBytes + this.#givenBytes(model);
    return leastBytes <= roomBytes ? null : {
      reason: this.#shortage(model, least, roomBytes),
      retryInMs: MISFIT_RETRY_MS,
    };
  }

  /**
   * Let a load go first that waits for this model's memory: else a model that
   * is asked for without a pause would never make room.
   *
   * @param model The model that is to be used.
   * @param signal Ends the wait.
   */
  async yieldTo(model: LocalModel, signal: AbortSignal): Promise<void> {
    for (;;) {
      const claim = this.#claim;
      if (claim === null || claim.name === model.name) return;
      const held = this.#held().find((one) => one.model.name === model.name);
      if (held === undefined || held.isPinned) return;
      await orAborted(claim.over.promise, signal);
    }
  }

  /**
   * Make room for a model: what is idle and not pinned leaves, least recently
   * used first; what computes is waited for.
   *
   * @param model The model.
   * @param wished Tokens of context that somebody asks for beyond the usual; 0 for nobody.
   * @param signal Aborted when the load is called off.
   * @returns Tokens of context that there is room for: those wished for, or the usual, or fewer where nobody said how many.
   * @throws {Fault} `insufficient_memory` when it does not fit beside what can not leave.
   */
  make(
    model: LocalModel,
    wished: number,
    signal: AbortSignal,
  ): Promise<number> {
    const turn = this.#turns.then(() => this.#make(model, wished, signal));
    // A start that is called off must not end the turns of the others.
    this.#turns = turn.catch(() => {});
    return turn;
  }

  async #make(
    model: LocalModel,
    wished: number,
    signal: AbortSignal,
  ): Promise<number> {
    try {
      return await this.#makeNow(model, wished, signal);
    } finally {
      this.#claim?.over.resolve();
      this.#claim = null;
    }
  }

  async #makeNow(
    model: LocalModel,
    wished: number,
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, log } = this.#options;
    const { usual, least: shortest } = this.#reckon(model);
    const context = Math.max(usual, wished);
    const least = wished > usual ? wished : shortest;
    const leastBytes = this.#bytes(model, least);
    const giveUpMs = clock.monotonic() + LONGEST_WAIT_MS;
    for (;;) {
      signal.throwIfAborted();
      const freeBytes = await this.#freeBytes() - this.#loadingBytes(model);
      const residents = this.#residents(model);
      this.#roomBytes = residents.reduce(
        (sum, { bytes }) => sum + bytes,
        freeBytes,
      );
      const wantedBytes = this.#bytes(model, context);
      const fields = {
        model: model.name,
        freeBytes: Math.round(freeBytes),
        neededBytes: wantedBytes,
      };
      const victim = chooseVictim(freeBytes, roomFor(wantedBytes), residents);
      if (victim !== null) {
        log.info("Unloading a model to make room", {
          ...fields,
          unloaded: victim.name,
        });
        // Somebody may have begun to use it: then it counts as in use next time round.
        await this.#held().find((one) => one.model.name === victim.name)
          ?.stopIfIdle();
        continue;
      }
      if (freeBytes >= wantedBytes) {
        if (freeBytes < roomFor(wantedBytes)) {
          log.warn("Memory is short for a model that is loaded now", fields);
        }
        return context;
      }
      const given = this.#givenBytes(model);
      if (
        given > 0 && freeBytes + given >= leastBytes &&
        clock.monotonic() < giveUpMs
      ) {
        this.#claim ??= {
          name: model.name,
          over: Promise.withResolvers<void>(),
        };
        await clock.sleep(LOOK_EVERY_MS, signal);
        continue;
      }
      if (freeBytes < leastBytes) {
        throw new Fault(
          "insufficient_memory",
          `The model "${model.name}" does not fit: it ${
            this.#shortage(model, least, freeBytes)
          }`,
          { retryAfterMs: MISFIT_RETRY_MS },
        );
      }
      const shortened = contextWithin(
        model,
        this.#options.slots,
        freeBytes,
        usual,
      );
      log.warn("Memory is short: a model gets a shorter context", {
        ...fields,
        contextLength: shortened,
      });
      return shortened;
    }
  }

  #reckon(model: LocalModel): Reckoned {
    const { contextLength, slots, totalMemoryBytes } = this.#options;
    const totalBytes = totalMemoryBytes?.() ?? null;
    const known = this.#reckoned.get(model);
    if (known !== undefined && known.totalBytes === totalBytes) return known;
    const terms = { configured: contextLength, slots, totalBytes };
    const usual = usualContext(model, terms);
    const least = contextLength === null ? leastContext(usual) : usual;
    const reckoned: Reckoned = {
      totalBytes,
      usual,
      largest: largestContext(model, terms),
      least,
      leastBytes: this.#bytes(model, least),
    };
    this.#reckoned.set(model, reckoned);
    return reckoned;
  }

  #bytes(model: LocalModel, contextLength: number): number {
    return neededMemory(this.need(model, contextLength));
  }

  #described(model: LocalModel, contextLength: number): string {
    const need = this.need(model, contextLength);
    return `needs ${gigabytes(neededMemory(need))} GB (${
      gigabytes(need.weightsBytes)
    } GB of weights, the rest for ${this.#options.slots} × ${contextLength} tokens of context)`;
  }

  #shortage(model: LocalModel, context: number, roomBytes: number): string {
    return `${this.#described(model, context)}, and ${
      gigabytes(Math.max(0, roomBytes))
    } GB of this node's memory can be had now; unload what is pinned, end other programs, or set fewer COVEY_SLOTS or less COVEY_CONTEXT`;
  }

  async #freeBytes(): Promise<number> {
    const { freeMemoryBytes, mappedFileBytes } = this.#options;
    let mapped = 0;
    if (mappedFileBytes !== undefined) {
      for (const { status } of this.#held().map(statusOf)) {
        if (status.state !== "ready" || status.pid === null) continue;
        mapped += await mappedFileBytes(status.pid);
      }
    }
    this.#mappedBytes = mapped;
    return await freeMemoryBytes() - mapped;
  }

  /** What the other models would give back if all but the pinned ones left. */
  #givenBytes(except: LocalModel): number {
    return this.#held().map(statusOf).reduce(
      (sum, { isPinned, model, status }) =>
        model.name === except.name || isPinned ||
          (status.state !== "ready" && status.state !== "starting")
          ? sum
          : sum + this.#bytes(
            model,
            status.state === "ready" ? status.contextLength : this.usual(model),
          ),
      0,
    );
  }

  /** What models that are being loaded have yet to take. */
  #loadingBytes(except: LocalModel): number {
    let bytes = 0;
    for (const { model, status } of this.#held().map(statusOf)) {
      if (model.name === except.name || status.state !== "starting") continue;
      bytes += this.#bytes(model, this.usual(model)) * (1 - status.progress);
    }
    return bytes;
  }

  #residents(except: LocalModel) {
    return this.#held().map(statusOf).flatMap(({ isPinned, model, status }) => {
      if (model.name === except.name || status.state !== "ready") return [];
      const { inUse, lastUsedMs, loadTimeMs, contextLength } = status;
      const bytes = this.#bytes(model, contextLength);
      return [{
        name: model.name,
        isPinned,
        inUse,
        lastUsedMs,
        loadTimeMs,
        bytes,
      }];
    });
  }
}

function statusOf(held: HeldModel) {
  return {
    model: held.model,
    isPinned: held.isPinned,
    status: held.status(),
  };
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}
