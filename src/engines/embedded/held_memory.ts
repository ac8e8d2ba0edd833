import {
  type LocalModel,
  type MemoryNeed,
  type MemoryRoom,
  neededMemory,
} from "../../domain/mod.ts";
import type { CardReport } from "../card_report.ts";
import type { SupervisorStatus } from "../supervision.ts";
import { addRooms, type Resident } from "./memory_room.ts";

/** A model that is in memory, or on its way into or out of it. */
export interface HeldModel {
  readonly model: LocalModel;
  readonly isPinned: boolean;
  status(): SupervisorStatus;
  /** Take it out of memory, unless it is used; resolves with whether it went. */
  stopIfIdle(): Promise<boolean>;
}

/** A model in memory, with what bringing it back would take. */
export interface HeldResident extends Resident {
  readonly loadTimeMs: number;
}

/** How models are reckoned. */
export interface HeldMeans {
  /** What a model takes with a context. */
  need(model: LocalModel, contextLength: number): MemoryNeed;
  /** Tokens of context it gets where nobody asks for more. */
  usual(model: LocalModel): number;
}

/** What models that are in memory, or on their way there, hold of it. */
export class HeldMemory {
  readonly #held: () => readonly HeldModel[];
  readonly #means: HeldMeans;
  /** How models are divided that were given room last, by name. */
  readonly #planned = new Map<string, MemoryRoom>();

  /**
   * @param held Models in memory.
   * @param means How they are reckoned.
   */
  constructor(held: () => readonly HeldModel[], means: HeldMeans) {
    this.#held = held;
    this.#means = means;
  }

  /** The model of a name, if it is held. */
  find(name: string): HeldModel | undefined {
    return this.#held().find(({ model }) => model.name === name);
  }

  /** Processes of models that are loaded. */
  pids(): readonly number[] {
    return this.#statuses().flatMap(({ status }) =>
      status.state === "ready" ? status.pid ?? [] : []
    );
  }

  /** Take note of how a model will be divided that is loaded now. */
  plan(model: LocalModel, split: MemoryRoom): void {
    this.#planned.set(model.name, split);
  }

  /** What loaded models hold of cards with memory of their own. */
  onCards(): number {
    return this.#statuses().reduce(
      (sum, { status }) =>
        status.state === "ready" ? sum + (cardBytesOf(status) ?? 0) : sum,
      0,
    );
  }

  /** What the other models would give back if all but the pinned ones left. */
  given(except: LocalModel): MemoryRoom {
    return addRooms(
      this.#others(except).flatMap((one) =>
        one.isPinned ? [] : this.#holding(one) ?? []
      ),
    );
  }

  /** What the other models that are being loaded have yet to take. */
  loading(except: LocalModel): MemoryRoom {
    return addRooms(
      this.#others(except).flatMap((one) => {
        const holding = this.#holding(one);
        if (one.status.state !== "starting" || holding === null) return [];
        const left = 1 - one.status.progress;
        return [{
          ramBytes: holding.ramBytes * left,
          cardBytes: holding.cardBytes * left,
        }];
      }),
    );
  }

  /** The other models that are loaded. */
  residents(except: LocalModel): readonly HeldResident[] {
    return this.#others(except).flatMap((one) => {
      const { isPinned, model, status } = one;
      const holding = this.#holding(one);
      if (status.state !== "ready" || holding === null) return [];
      const { inUse, lastUsedMs, loadTimeMs } = status;
      return [{
        ...holding,
        name: model.name,
        isPinned,
        inUse,
        lastUsedMs,
        loadTimeMs,
      }];
    });
  }

  /** What a model holds now, or will once it is loaded; null for one that holds nothing. */
  #holding({ model, status }: Status): MemoryRoom | null {
    const { need, usual } = this.#means;
    if (status.state === "starting") {
      return this.#planned.get(model.name) ??
        { ramBytes: neededMemory(need(model, usual(model))), cardBytes: 0 };
    }
    if (status.state !== "ready") return null;
    const needed = need(model, status.contextLength);
    const cardBytes = cardBytesOf(status) ?? 0;
    // What one computation needs is needed on both sides.
    const moved = Math.min(cardBytes, needed.weightsBytes + needed.cacheBytes);
    return { cardBytes, ramBytes: neededMemory(needed) - moved };
  }

  #others(except: LocalModel): readonly Status[] {
    return this.#statuses().filter(({ model }) => model.name !== except.name);
  }

  #statuses(): readonly Status[] {
    return this.#held().map((held) => ({
      model: held.model,
      isPinned: held.isPinned,
      status: held.status(),
    }));
  }
}

interface Status {
  readonly model: LocalModel;
  readonly isPinned: boolean;
  readonly status: SupervisorStatus;
}

/**
 * What of a loaded model lies on cards with memory of their own.
 *
 * @param status What its process said, if anything.
 * @returns Null where it did not say.
 */
export function cardBytesOf(
  { card }: { readonly card?: CardReport | null },
): number | null {
  if (card === undefined) return null;
  return card === null || card.isShared ? 0 : card.usedBytes;
}
