import type { TensorPlace } from "./gguf_layout.ts";
import { BLOCK_WEIGHTS } from "./q8_block.ts";

/**
 * Weights that llama.cpp keeps as they are whatever it makes of the others, by
 * a part of their names: norms, gates of experts, and tables that are small or
 * that its operations want in floats (`tensor_allows_quantization`, July 2026).
 */
const KEPT_PARTS: readonly string[] = [
  "_norm.weight",
  "ffn_gate_inp.weight",
  "ffn_gate_tid2eid.weight",
  "altup",
  "laurel",
  "per_layer_model_proj",
  "ssm_conv1d",
  "shortconv.conv.weight",
  "indexer.k_proj.weight",
  "indexer.q_proj.weight",
  "time_mix_first.weight",
  "time_mix_w0.weight",
  "time_mix_w1.weight",
  "time_mix_w2.weight",
  "time_mix_v0.weight",
  "time_mix_v1.weight",
  "time_mix_v2.weight",
  "time_mix_a0.weight",
  "time_mix_a1.weight",
  "time_mix_a2.weight",
  "time_mix_g1.weight",
  "time_mix_g2.weight",
  "time_mix_decay_w1.weight",
  "time_mix_decay_w2.weight",
  "time_mix_lerp_fused.weight",
  "attn_rel_b.weight",
  ".position_embd",
  "sam.pos_embd",
  "sam.neck.",
  "sam.net_",
  ".rel_pos",
  ".patch_embd",
  ".patch_merger",
  "a.rvq.codebook",
  "mm.a.code_embd",
];
const KEPT_NAMES: ReadonlySet<string> = new Set([
  "position_embd.weight",
  "token_types.weight",
]);

/** Types that hold one number a weight, by their numbers in ggml.h. */
export type FloatType = 0 | 1 | 30;
/** 32-bit floats. */
export const F32 = 0 as const;
/** IEEE halves. */
export const F16 = 1 as const;
/** The upper halves of 32-bit floats. */
export const BF16 = 30 as const;

/**
 * Whether a tensor's weights become blocks: a matrix of floats whose rows are
 * whole blocks, and none that is kept as it is.
 *
 * @param tensor The tensor.
 * @returns The type its weights have now, or null where they stay.
 */
export function floatsToConvert(
  { dimensions, name, type }: TensorPlace,
): FloatType | null {
  const isMatrix = dimensions.slice(1).some((length) => length > 1);
  if (!isMatrix || (dimensions[0] ?? 0) % BLOCK_WEIGHTS !== 0) return null;
  if (!name.endsWith("weight") || KEPT_NAMES.has(name)) return null;
  if (KEPT_PARTS.some((part) => name.includes(part))) return null;
  return type === F32 || type === F16 || type === BF16 ? type : null;
}
