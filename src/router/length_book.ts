import { ForecastStretch } from "./forecast_stretch.ts";
import { modelKey } from "./model_name.ts";
import { OutputLengths } from "./output_length.ts";

const MOST_MODELS = 1024;
/** A client's own lengths take a few kilobytes. */
const MOST_CLIENTS = 256;
/** Fewer answers than this say less of a client than those of all. */
const LEAST_ANSWERS = 8;

/** Output lengths per model, and per model and client, of the answers that passed here. */
export class LengthBook {
  /** Each least recently observed first. */
  readonly #models = new Map<string, OutputLengths>();
  readonly #clients = new Map<string, OutputLengths>();
  /** How forecasts from these lengths fared. */
  readonly stretch: ForecastStretch = new ForecastStretch();

  /**
   * The lengths to reckon with.
   *
   * @param model The model, under any spelling.
   * @param client Whose request it is: its own lengths count where there are enough.
   * @returns Undefined before the model's first answer.
   */
  find(model: string, client?: string): OutputLengths | undefined {
    const key = modelKey(model);
    const own = client === undefined
      ? undefined
      : this.#clients.get(`${key} ${client}`);
    return own !== undefined && own.observations >= LEAST_ANSWERS
      ? own
      : this.#models.get(key);
  }

  /**
   * Take an answer in.
   *
   * @param model The model, under any spelling.
   * @param tokens Output tokens.
   * @param cut Whether it ended before the model was done.
   * @param client Whose request it was.
   */
  observe(model: string, tokens: number, cut: boolean, client?: string): void {
    const key = modelKey(model);
    note(this.#models, MOST_MODELS, key, tokens, cut);
    if (client === undefined) return;
    note(this.#clients, MOST_CLIENTS, `${key} ${client}`, tokens, cut);
  }
}

function note(
  books: Map<string, OutputLengths>,
  most: number,
  key: string,
  tokens: number,
  cut: boolean,
): void {
  const lengths = books.get(key) ?? new OutputLengths();
  lengths.observe(tokens, cut);
  books.delete(key);
  books.set(key, lengths);
  if (books.size <= most) return;
  for (const oldest of books.keys()) {
    books.delete(oldest);
    return;
  }
}
