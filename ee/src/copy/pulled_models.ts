import { type ModelShelf, originTextOf } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { sha256 } from "./gather.ts";

/** How long, and how many, pulls that ended are told of by their key alone. */
const RECENT_MS = 10 * 60_000;
const MOST_RECENT = 64;

/** A model here. */
export interface PulledModel {
  readonly model: string;
  readonly root: string;
  /** Root of what goes with it; absent for nothing. */
  readonly companions?: string;
}

/** Models here as members that want to pull the same ask for them. */
export class PulledModels {
  readonly #shelf: Pick<ModelShelf, "list" | "manifest">;
  readonly #clock: Clock;
  /** Models that were pulled here just now, by key. */
  readonly #recent = new Map<string, { model: string; atMs: number }>();

  constructor(shelf: Pick<ModelShelf, "list" | "manifest">, clock: Clock) {
    this.#shelf = shelf;
    this.#clock = clock;
  }

  /** Note that a pull has ended. */
  add(key: string, model: string): void {
    this.#recent.set(key, { model, atMs: this.#clock.monotonic() });
    for (const old of this.#recent.keys()) {
      if (this.#recent.size <= MOST_RECENT) break;
      this.#recent.delete(old);
    }
  }

  /** A model here with the published digests, of the same origin, or pulled just now for the same key. */
  async find(
    key: string,
    sha256s: readonly (string | null)[],
  ): Promise<PulledModel | null> {
    const recent = this.#recent.get(key);
    const isRecent = recent !== undefined &&
      this.#clock.monotonic() - recent.atMs < RECENT_MS;
    for (const { name, root } of this.#shelf.list()) {
      if (root === null) continue;
      const manifest = await this.#shelf.manifest(name);
      const { companions, files = [] } = manifest ?? {};
      const here = {
        model: name,
        root,
        ...companions === undefined ? {} : { companions },
      };
      if (isRecent && recent.model === name) return here;
      if (files.length !== sha256s.length) continue;
      // Published digests have the last word: what lies here may have changed.
      const isSame = sha256s.every((sha256, at) =>
        sha256 === null || sha256 === files[at]?.sha256
      );
      if (!isSame) continue;
      if (!sha256s.includes(null)) return here;
      const origin = originTextOf(files.map((file) => file.origin));
      if (origin !== null && digestOf(origin) === key) return here;
    }
    return null;
  }
}

function digestOf(text: string): string {
  return sha256(new TextEncoder().encode(text));
}
