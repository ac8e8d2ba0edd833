/** How a model is made of another one. */
export interface Recipe {
  /** Its name for people, as in `--to q8_0`. */
  readonly to: string;
  /** What marks names of what is made, as llama.cpp calls it. */
  readonly label: string;
  /**
   * Its name between members, with a number that changes whenever the bytes
   * would: who knows it makes the same ones.
   */
  readonly id: string;
}

/** What can be made here. */
export const RECIPES: readonly Recipe[] = [
  { to: "q8_0", label: "Q8_0", id: "gguf q8_0 1" },
];

const FLOATS = /[-_.](?:bf16|fp?16|fp?32)$/i;

/**
 * Name what is made of a model: as the model, with the new form for the old.
 *
 * @param model Name of the original.
 * @param recipe What is made.
 */
export function nameOfMade(model: string, { label }: Recipe): string {
  return `${model.replace(FLOATS, "")}-${label}`;
}
