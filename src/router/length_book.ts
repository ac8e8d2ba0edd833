import { modelKey } from "./model_name.ts";
import { OutputLengths } from "./output_length.ts";

const MOST_MODELS = 1024;

/** Output lengths per model, of the answers that came through this entry node. */
export class LengthBook {
  /** Least recently observed first. */
  readonly #models = new Map<string, OutputLengths>();

  /** The lengths of a model under any spelling of its name, or undefined before its first answer. */
  find(model: string): OutputLengths | undefined {
    return this.#models.get(modelKey(model));
  }

  /**
   * Take an answer in.
   *
   * @param model The model, under any spelling.
   * @param tokens Output tokens.
   * @param cut Whether it ended before the model was done.
   */
  observe(model: string, tokens: number, cut: boolean): void {
    const key = modelKey(model);
    const lengths = this.#models.get(key) ?? new OutputLengths();
    lengths.observe(tokens, cut);
    this.#models.delete(key);
    this.#models.set(key, lengths);
    if (this.#models.size <= MOST_MODELS) return;
    for (const oldest of this.#models.keys()) {
      this.#models.delete(oldest);
      return;
    }
  }
}
