/** A metadata value by its GGUF type. */
export type GgufValue =
  | { readonly u16: number }
  | { readonly u32: number }
  | { readonly u64: bigint }
  | { readonly text: string }
  | { readonly texts: readonly string[] }
  | { readonly floats: readonly number[] };

/** What to build. */
export interface GgufPlan {
  readonly version?: number;
  readonly pairs: readonly (readonly [string, GgufValue])[];
  readonly tensors?: readonly {
    readonly name: string;
    readonly dimensions: readonly number[];
    readonly type: number;
    readonly offset: number;
  }[];
  readonly dataBytes?: number;
}

/** Write a GGUF with the header planned and zeros for weights. */
export function buildGguf(plan: GgufPlan): Uint8Array<ArrayBuffer> {
  const out: number[] = [];
  const u16 = (value: number) => out.push(value & 0xff, value >> 8 & 0xff);
  const u32 = (value: number) => {
    u16(value & 0xffff);
    u16(value >>> 16);
  };
  const u64 = (value: bigint) => {
    u32(Number(value & 0xffff_ffffn));
    u32(Number(value >> 32n));
  };
  const text = (value: string) => {
    const bytes = new TextEncoder().encode(value);
    u64(BigInt(bytes.length));
    out.push(...bytes);
  };
  const tensors = plan.tensors ?? [];
  out.push(...new TextEncoder().encode("GGUF"));
  u32(plan.version ?? 3);
  u64(BigInt(tensors.length));
  u64(BigInt(plan.pairs.length));
  for (const [key, value] of plan.pairs) {
    text(key);
    if ("u16" in value) {
      u32(2);
      u16(value.u16);
    } else if ("u32" in value) {
      u32(4);
      u32(value.u32);
    } else if ("u64" in value) {
      u32(10);
      u64(value.u64);
    } else if ("text" in value) {
      u32(8);
      text(value.text);
    } else if ("texts" in value) {
      u32(9);
      u32(8);
      u64(BigInt(value.texts.length));
      value.texts.forEach(text);
    } else {
      u32(9);
      u32(6);
      u64(BigInt(value.floats.length));
      out.push(...new Uint8Array(new Float32Array(value.floats).buffer));
    }
  }
  for (const tensor of tensors) {
    text(tensor.name);
    u32(tensor.dimensions.length);
    tensor.dimensions.forEach((size) => u64(BigInt(size)));
    u32(tensor.type);
    u64(BigInt(tensor.offset));
  }
  while (out.length % 32 !== 0) out.push(0);
  const bytes = new Uint8Array(out.length + (plan.dataBytes ?? 0));
  bytes.set(out);
  return bytes;
}

/** A small sound model: a vocabulary, two tensors, 384 bytes of weights. */
export function buildModel(
  extra: GgufPlan["pairs"] = [],
  architecture = "llama",
): Uint8Array<ArrayBuffer> {
  return buildGguf({
    pairs: [
      ["general.architecture", { text: architecture }],
      ["general.name", { text: "small" }],
      [`${architecture}.context_length`, { u32: 2048 }],
      ["tokenizer.ggml.tokens", { texts: ["<s>", "a", "b", "▁c"] }],
      ["tokenizer.ggml.scores", { floats: [0, 1, 2, 3] }],
      ...extra,
    ],
    tensors: [
      { name: "token_embd.weight", dimensions: [16, 4], type: 0, offset: 0 },
      { name: "output.weight", dimensions: [16, 4], type: 1, offset: 256 },
    ],
    dataBytes: 384,
  });
}
