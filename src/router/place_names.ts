import type { Engine } from "../domain/mod.ts";
import { placeOf } from "./prefix_book.ts";

interface Names {
  readonly key: string;
  readonly places: Map<string, string>;
}

/** Names of one engine's models that were ever asked for; more than any engine has. */
const MOST_MODELS = 4096;

/**
 * The names by which this entry's books know engines and their models. Kept,
 * because a placement needs those of all engines, and putting strings together
 * costs more than finding them.
 */
export class PlaceNames {
  readonly #names = new WeakMap<Engine, Names>();

  /** An engine's name, unique over all nodes. */
  key(engine: Engine): string {
    return this.#of(engine).key;
  }

  /**
   * Name of one model on an engine.
   *
   * @param model The engine's own name for it.
   */
  of(engine: Engine, model: string): string {
    const { key, places } = this.#of(engine);
    let place = places.get(model);
    if (place === undefined) {
      if (places.size >= MOST_MODELS) places.clear();
      place = placeOf(key, model);
      places.set(model, place);
    }
    return place;
  }

  #of(engine: Engine): Names {
    let names = this.#names.get(engine);
    if (names === undefined) {
      names = { key: `${engine.node}/${engine.id}`, places: new Map() };
      this.#names.set(engine, names);
    }
    return names;
  }
}
