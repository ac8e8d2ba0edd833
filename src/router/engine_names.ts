import type { Engine } from "../domain/mod.ts";
import { placeOf } from "./prefix_book.ts";

/** More than any engine has. */
const MOST_MODELS = 4096;

/** The names by which this entry's books know one engine and its models. */
export class EngineNames {
  /** Unique over all nodes. */
  readonly key: string;
  readonly #places = new Map<string, string>();

  /** @param engine The engine. */
  constructor({ id, node }: Engine) {
    this.key = `${node}/${id}`;
  }

  /**
   * Name of one of its models.
   *
   * @param model The engine's own name for it.
   */
  place(model: string): string {
    let place = this.#places.get(model);
    if (place === undefined) {
      if (this.#places.size >= MOST_MODELS) this.#places.clear();
      place = placeOf(this.key, model);
      this.#places.set(model, place);
    }
    return place;
  }
}

/**
 * Names of all engines. Kept, because a placement needs those of all of them,
 * and putting strings together costs more than finding them.
 */
export class NameBook {
  readonly #names = new WeakMap<Engine, EngineNames>();

  /** The names of an engine. */
  of(engine: Engine): EngineNames {
    let names = this.#names.get(engine);
    if (names === undefined) {
      names = new EngineNames(engine);
      this.#names.set(engine, names);
    }
    return names;
  }
}
