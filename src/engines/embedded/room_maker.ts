import {
  type CardRoom,
  type Eviction,
  Fault,
  fitsInto,
  type LocalModel,
  type MemoryNeed,
  type MemoryRoom,
  type Misfit,
  neededMemory,
  splitMemory,
} from "../../domain/mod.ts";
import { orAborted } from "../../platform/mod.ts";
import type { CardReport } from "../card_report.ts";
import { CardWatch } from "./card_watch.ts";
import type { EmbeddedEngineOptions } from "./embedded_options.ts";
import { HeldMemory, type HeldModel } from "./held_memory.ts";
import {
  contextWithin,
  largestContext,
  leastContext,
  memoryNeed,
  usualContext,
} from "./memory_need.ts";
import {
  addRooms,
  chooseVictim,
  type Resident,
  roomFor,
  victimsFor,
} from "./memory_room.ts";

/** What is known of a model on this machine, however it stands. */
interface Reckoned {
  /** What it was reckoned with; null where nobody knows. */
  readonly total: MemoryRoom | null;
  readonly usual: number;
  readonly largest: number;
  /** The shortest context that it is loaded with. */
  readonly least: number;
  readonly leastNeed: MemoryNeed;
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
  readonly #held: HeldMemory;
  readonly #cards: CardWatch;
  /** Memory for models, free or held by them, as of the last load; null before. */
  #room: MemoryRoom | null = null;
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
    this.#held = new HeldMemory(held, {
      need: (model, context) => this.need(model, context),
      usual: (model) => this.usual(model),
    });
    this.#cards = new CardWatch(options);
  }

  /** Cards that models compute on, or would. */
  get cards(): Pick<CardWatch, "computesOn" | "look"> {
    return this.#cards;
  }

  /** What is left of what a process said of its cards; null for nothing said. */
  saidCards(): CardRoom | null {
    return this.#cards.said(this.#held.onCards());
  }

  /** Take note of what an engine process says of cards once its model is loaded. */
  heard(card: CardReport | null | undefined): void {
    this.#cards.hear(card, this.#held.onCards());
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
    if (this.#room === null) return [];
    const { clock, keepAliveMs } = this.#options;
    const residents = this.#held.residents(model);
    const held = addRooms(residents);
    const free = {
      ramBytes: this.#room.ramBytes - held.ramBytes -
        this.#held.loading(model).ramBytes,
      cardBytes: this.#cards.freeBytes(this.#held.onCards()),
    };
    const needed = this.#wanted(
      this.need(model, this.usual(model)),
      free,
      residents,
    );
    return victimsFor(free, needed, residents).map((one) => ({
      model: one.name,
      reloadMs: one.loadTimeMs,
      idleMs: Math.max(0, clock.monotonic() - one.lastUsedMs),
      ...(Number.isFinite(keepAliveMs) ? { keepMs: keepAliveMs } : {}),
    }));
  }

  /** Why a model that is not in memory can not be loaded, as far as the last reading of the machine tells. */
  misfit(model: LocalModel): Misfit | null {
    const { availableMemoryBytes } = this.#options;
    const { least, leastNeed, total } = this.#reckon(model);
    if (total !== null && !fitsInto(leastNeed, total)) {
      const cards = total.cardBytes > 0
        ? ` and ${gigabytes(total.cardBytes)} GB of its cards'`
        : "";
      return {
        reason: `${this.#described(model, least)}, and this node may use ${
          gigabytes(total.ramBytes)
        } GB of memory in all${cards}`,
        retryInMs: null,
      };
    }
    const freeBytes = availableMemoryBytes?.() ?? null;
    if (freeBytes === null) return null;
    const unheld = {
      ramBytes: freeBytes - this.#mappedBytes,
      cardBytes: this.#cards.freeBytes(this.#held.onCards()),
    };
    if (fitsInto(leastNeed, unheld)) return null;
    const room = addRooms([unheld, this.#held.given(model)]);
    return fitsInto(leastNeed, room) ? null : {
      reason: this.#shortage(model, least, room),
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
      const held = this.#held.find(model.name);
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
    await this.#cards.look();
    const { usual, least: shortest } = this.#reckon(model);
    const context = Math.max(usual, wished);
    const least = wished > usual ? wished : shortest;
    const wantedNeed = this.need(model, context);
    const leastNeed = this.need(model, least);
    const giveUpMs = clock.monotonic() + LONGEST_WAIT_MS;
    for (;;) {
      signal.throwIfAborted();
      const loading = this.#held.loading(model);
      const free = {
        ramBytes: await this.#freeBytes() - loading.ramBytes,
        cardBytes: Math.max(
          0,
          this.#cards.freeBytes(this.#held.onCards()) - loading.cardBytes,
        ),
      };
      const residents = this.#held.residents(model);
      this.#room = addRooms([free, ...residents]);
      const wanted = this.#wanted(wantedNeed, free, residents);
      const fields = {
        model: model.name,
        freeBytes: Math.round(free.ramBytes),
        neededBytes: neededMemory(wantedNeed),
        ...wanted.cardBytes === 0 ? {} : {
          freeCardBytes: Math.round(free.cardBytes),
          neededCardBytes: Math.round(wanted.cardBytes),
        },
      };
      const victim = chooseVictim(free, wanted, residents);
      if (victim !== null) {
        log.info("Unloading a model to make room", {
          ...fields,
          unloaded: victim.name,
        });
        // Somebody may have begun to use it: then it counts as in use next time round.
        await this.#held.find(victim.name)?.stopIfIdle();
        if (victim.cardBytes > 0) await this.#cards.look();
        continue;
      }
      const split = splitMemory(wantedNeed, free.cardBytes);
      if (free.ramBytes >= split.ramBytes) {
        if (free.ramBytes < roomFor(split.ramBytes)) {
          log.warn("Memory is short for a model that is loaded now", fields);
        }
        this.#held.plan(model, split);
        return context;
      }
      const given = this.#held.given(model);
      if (
        given.ramBytes > 0 && fitsInto(leastNeed, addRooms([free, given])) &&
        clock.monotonic() < giveUpMs
      ) {
        this.#claim ??= {
          name: model.name,
          over: Promise.withResolvers<void>(),
        };
        await clock.sleep(LOOK_EVERY_MS, signal);
        continue;
      }
      if (!fitsInto(leastNeed, free)) {
        throw new Fault(
          "insufficient_memory",
          `The model "${model.name}" does not fit: it ${
            this.#shortage(model, least, free)
          }`,
          { retryAfterMs: MISFIT_RETRY_MS },
        );
      }
      const { slots } = this.#options;
      const shortened = contextWithin(model, slots, free, usual);
      log.warn("Memory is short: a model gets a shorter context", {
        ...fields,
        contextLength: shortened,
      });
      this.#held.plan(
        model,
        splitMemory(this.need(model, shortened), free.cardBytes),
      );
      return shortened;
    }
  }

  /**
   * Memory that is to be free for a model: on cards for as many layers as could
   * lie there if those left that compute nothing, and of the machine's for the
   * rest.
   */
  #wanted(
    need: MemoryNeed,
    free: MemoryRoom,
    residents: readonly Resident[],
  ): MemoryRoom {
    const idle = residents.filter((one) => !one.inUse && !one.isPinned);
    const { cardBytes } = addRooms([free, ...idle]);
    const best = splitMemory(need, cardBytes);
    return { cardBytes: best.cardBytes, ramBytes: roomFor(best.ramBytes) };
  }

  #reckon(model: LocalModel): Reckoned {
    const { contextLength, slots, totalMemoryBytes } = this.#options;
    const ramBytes = totalMemoryBytes?.() ?? null;
    const cardBytes = this.#cards.totalBytes;
    const known = this.#reckoned.get(model);
    if (
      known !== undefined && (known.total?.ramBytes ?? null) === ramBytes &&
      (known.total?.cardBytes ?? cardBytes) === cardBytes
    ) return known;
    const total = ramBytes === null ? null : { ramBytes, cardBytes };
    const terms = { configured: contextLength, slots, total };
    const usual = usualContext(model, terms);
    const least = contextLength === null ? leastContext(usual) : usual;
    const reckoned: Reckoned = {
      total,
      usual,
      largest: largestContext(model, terms),
      least,
      leastNeed: this.need(model, least),
    };
    this.#reckoned.set(model, reckoned);
    return reckoned;
  }

  #described(model: LocalModel, contextLength: number): string {
    const need = this.need(model, contextLength);
    return `needs ${gigabytes(neededMemory(need))} GB (${
      gigabytes(need.weightsBytes)
    } GB of weights, the rest for ${this.#options.slots} × ${contextLength} tokens of context)`;
  }

  #shortage(
    model: LocalModel,
    context: number,
    { cardBytes, ramBytes }: MemoryRoom,
  ): string {
    const cards = this.#cards.totalBytes > 0
      ? ` and ${gigabytes(Math.max(0, cardBytes))} GB of its cards'`
      : "";
    return `${this.#described(model, context)}, and ${
      gigabytes(Math.max(0, ramBytes))
    } GB of this node's memory${cards} can be had now; unload what is pinned, end other programs, or set fewer COVEY_SLOTS or less COVEY_CONTEXT`;
  }

  async #freeBytes(): Promise<number> {
    const { freeMemoryBytes, mappedFileBytes } = this.#options;
    let mapped = 0;
    if (mappedFileBytes !== undefined) {
      for (const pid of this.#held.pids()) mapped += await mappedFileBytes(pid);
    }
    this.#mappedBytes = mapped;
    return await freeMemoryBytes() - mapped;
  }
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}
