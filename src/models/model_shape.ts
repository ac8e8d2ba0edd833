import type { ModelShape } from "../domain/mod.ts";

/**
 * Read from a header what a model's memory is estimated from.
 *
 * @param numberOf A number of the architecture by its name, or null where the header does not say.
 * @param vocabulary Words of the tokenizer; 0 where it is not said.
 * @returns Null where too little is said.
 */
export function shapeOf(
  numberOf: (name: string) => number | null,
  vocabulary: number,
): ModelShape | null {
  const layers = numberOf("block_count");
  const width = numberOf("embedding_length");
  if (layers === null || width === null) return null;
  return {
    layers,
    width,
    keptPerToken: keptPerToken(numberOf, width),
    vocabulary: vocabulary > 0 ? vocabulary : numberOf("vocab_size") ?? 0,
  };
}

function keptPerToken(
  numberOf: (name: string) => number | null,
  width: number,
): number {
  // Multi-head latent attention keeps what both are made from.
  const latent = numberOf("attention.kv_lora_rank");
  if (latent !== null && latent > 0) {
    return latent + (numberOf("rope.dimension_count") ?? 0);
  }
  const heads = numberOf("attention.head_count");
  // Several numbers, one a layer, are not read: as many as heads is the most.
  const kept = numberOf("attention.head_count_kv") ?? heads;
  if (kept === null) return 2 * width;
  const headWidth = heads === null || heads === 0 ? width : width / heads;
  return kept * (
    (numberOf("attention.key_length") ?? headWidth) +
    (numberOf("attention.value_length") ?? headWidth)
  );
}
