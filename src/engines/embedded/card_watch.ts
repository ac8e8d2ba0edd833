import { type CardRoom, roomOnCards } from "../../domain/mod.ts";
import { FileError } from "../../platform/mod.ts";
import type { CardReport } from "../card_report.ts";
import { packageFolder } from "../packs/packs_folder.ts";
import { PACKS } from "../packs/pack_table.ts";
import type { EmbeddedEngineOptions } from "./embedded_options.ts";

/** What watching cards needs of the engine's options. */
export type CardWatchOptions = Pick<
  EmbeddedEngineOptions,
  | "cardMemory"
  | "files"
  | "gpu"
  | "lookAtCards"
  | "packsDir"
  | "serverProgram"
  | "sharesMemoryWithCard"
>;

/**
 * Knows which cards engine processes compute on and how much of a model they
 * can hold. Before the first load the packs that were added tell, then what
 * processes say themselves. Memory that a card shares with the machine is none
 * of its own: it is counted there, once.
 */
export class CardWatch {
  readonly #options: CardWatchOptions;
  /** Names of the packs that are here. */
  #packs: ReadonlySet<string> = new Set();
  /** What the last process said; null for none but the processor, undefined before the first. */
  #said: CardReport | null | undefined;
  /** What others held of the cards when it said so. */
  #foreignBytes = 0;

  /** @param options The engine's. */
  constructor(options: CardWatchOptions) {
    this.#options = options;
  }

  /** Look which packs are here and how full the cards are. */
  async look(): Promise<void> {
    const { lookAtCards } = this.#options;
    if (!this.#mayCompute()) return;
    const packs = await this.#installed();
    const changed = packs.size !== this.#packs.size ||
      [...packs].some((name) => !this.#packs.has(name));
    this.#packs = packs;
    // What a process said without a pack, or with another, holds no more.
    if (changed) this.#said = undefined;
    if (packs.size > 0) await lookAtCards?.();
  }

  /**
   * Take note of what a process said of itself when its model was loaded.
   *
   * @param said Null for none but the processor; undefined for nothing said.
   * @param heldBytes What this engine's models hold of the cards by now, its own among them.
   */
  hear(said: CardReport | null | undefined, heldBytes: number): void {
    if (said === undefined) return;
    this.#said = said;
    this.#foreignBytes = said === null
      ? 0
      : Math.max(0, said.totalBytes - said.freeBytes - heldBytes);
  }

  /** Whether models compute on cards of a maker, as far as is known. */
  computesOn(maker: "nvidia" | "amd" | "intel"): boolean {
    if (!this.#mayCompute() || this.#said === null) return false;
    if (this.#said?.isShared === true) return false;
    return this.#packs.has("vulkan") ||
      (maker === "nvidia" && this.#packs.has("cuda"));
  }

  /** Room for models on cards if nobody held any of it. */
  get totalBytes(): number {
    const cards = this.#cards(0);
    return cards === null ? 0 : roomOnCards(cards.totalBytes, cards.totalBytes);
  }

  /**
   * Room for a model on cards, as last looked at.
   *
   * @param heldBytes What this engine's models hold of them.
   */
  freeBytes(heldBytes: number): number {
    const cards = this.#cards(heldBytes);
    return cards === null ? 0 : roomOnCards(cards.totalBytes, cards.freeBytes);
  }

  /**
   * What is left of what a process said of its cards, whatever sensors know.
   *
   * @param heldBytes What this engine's models hold of them.
   * @returns Null before the first word, and for none with memory of its own.
   */
  said(heldBytes: number): CardRoom | null {
    if (!this.#mayCompute() || !this.#said || this.#said.isShared) return null;
    const { totalBytes } = this.#said;
    const freeBytes = totalBytes - this.#foreignBytes - heldBytes;
    return { totalBytes, freeBytes: Math.max(0, freeBytes) };
  }

  /** What the cards have; null where there are none, or nobody knows. */
  #cards(heldBytes: number): CardRoom | null {
    if (!this.#mayCompute() || this.#said === null) return null;
    if (this.#said?.isShared === true) return null;
    return this.#options.cardMemory?.() ?? this.said(heldBytes);
  }

  #mayCompute(): boolean {
    const { gpu, packsDir, serverProgram, sharesMemoryWithCard } =
      this.#options;
    return gpu === "auto" && packsDir !== undefined &&
      serverProgram === undefined && sharesMemoryWithCard !== true;
  }

  async #installed(): Promise<ReadonlySet<string>> {
    const { files, packsDir = "" } = this.#options;
    const isHere = (name: string) =>
      files.stat(`${packageFolder(packsDir, name)}/package.json`)
        .then(() => true, (error) => {
          if (error instanceof FileError) return false;
          throw error;
        });
    const names = new Set<string>();
    // One after the other: looks side by side would each take a thread for good.
    for (const { name, packages } of PACKS) {
      let isWhole = true;
      for (const one of packages) isWhole &&= await isHere(one.name);
      if (isWhole) names.add(name);
    }
    return names;
  }
}
