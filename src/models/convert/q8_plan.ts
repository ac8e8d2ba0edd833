import { Fault } from "../../domain/mod.ts";
import { quantisationOf } from "../quantisation.ts";
import type { GgufLayout, PairPlace, TensorPlace } from "./gguf_layout.ts";
import { floatsToConvert, type FloatType } from "./kept_tensors.ts";
import { BLOCK_BYTES, BLOCK_WEIGHTS } from "./q8_block.ts";

/** `general.file_type` of a file whose matrices are Q8_0. */
const FILE_TYPE = 7;
/** Number of the tensor type Q8_0. */
const Q8_0 = 8;
/** `GGML_QNT_VERSION`: how blocks are laid out. */
const QUANTISATION_VERSION = 2;
const UINT32 = 4;
/** Types of numbers that stand for themselves: floats and integers. */
const PLAIN_TYPES: ReadonlySet<number> = new Set([
  0,
  1,
  24,
  25,
  26,
  27,
  28,
  30,
]);
/** What is said anew, or said of a part alone. */
const REPLACED: ReadonlySet<string> = new Set([
  "general.quantization_version",
  "general.file_type",
  "split.no",
  "split.count",
  "split.tensors.count",
]);

/** A piece of the file that is made; between two of them lie zeros. */
export type Segment =
  & {
    /** Where it begins in that file, in bytes. */
    readonly at: number;
    readonly length: number;
  }
  & (
    | { readonly kind: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
    /** As it lies in a part of the original. */
    | { readonly kind: "copied"; readonly part: number; readonly from: number }
    /** Blocks of weights that lie in a part of the original as floats. */
    | {
      readonly kind: "blocks";
      readonly part: number;
      readonly from: number;
      readonly type: FloatType;
    }
  );

/** What a converted file consists of. */
export interface ConvertedPlan {
  readonly sizeBytes: number;
  /** In the order of the file. */
  readonly segments: readonly Segment[];
}

/**
 * Plan the one file that a GGUF of floats becomes as Q8_0. Metadata stay as
 * they are but for what says how weights are stored, and in how many parts;
 * tensors stay in their order.
 *
 * @param parts Layouts of the original's parts, first one first.
 * @throws {Fault} `invalid_request` where there is nothing to convert.
 */
export function planQ8(parts: readonly GgufLayout[]): ConvertedPlan {
  const [first] = parts;
  if (first === undefined) throw new RangeError("A model has a part");
  const tensors = parts.flatMap(({ tensors }, part) =>
    tensors.map((tensor) => planTensor(tensor, part, first))
  );
  if (!tensors.some(({ floats }) => floats !== null)) {
    throw new Fault(
      "invalid_request",
      "The model has no matrix of floats that could be Q8_0",
      { param: "model" },
    );
  }
  const segments: Segment[] = [];
  let at = 0;
  const put = (bytes: Uint8Array<ArrayBuffer>) => {
    segments.push({ kind: "bytes", at, length: bytes.length, bytes });
    at += bytes.length;
  };
  const kept = first.pairs.filter(({ key }) => !REPLACED.has(key));
  put(startOf(first.header.version, tensors.length, kept.length + 2));
  for (const { end, start } of runsOf(kept)) {
    segments.push({
      kind: "copied",
      at,
      length: end - start,
      part: 0,
      from: start,
    });
    at += end - start;
  }
  put(pairOf("general.quantization_version", QUANTISATION_VERSION));
  put(pairOf("general.file_type", FILE_TYPE));
  put(tableOf(tensors, first.alignment));
  at = aligned(at, first.alignment);
  for (const { floats, part, sizeBytes, tensor } of tensors) {
    const place = { at, length: sizeBytes, part, from: tensor.start };
    segments.push(
      floats === null
        ? { kind: "copied", ...place }
        : { kind: "blocks", type: floats, ...place },
    );
    at = aligned(at + sizeBytes, first.alignment);
  }
  return { sizeBytes: at, segments };
}

interface PlannedTensor {
  readonly tensor: TensorPlace;
  readonly part: number;
  /** What its weights are now, where they become blocks. */
  readonly floats: FloatType | null;
  /** What it will take. */
  readonly sizeBytes: number;
}

function planTensor(
  tensor: TensorPlace,
  part: number,
  { header }: GgufLayout,
): PlannedTensor {
  const { sizeBytes, type, weights } = tensor;
  if (sizeBytes === null || !PLAIN_TYPES.has(type)) {
    const known = quantisationOf(header.fileType);
    throw new Fault(
      "invalid_request",
      `The model is quantised already${
        known === null ? "" : `, as ${known}`
      }: convert the one with F16, BF16 or F32 weights that it was made from`,
      { param: "model" },
    );
  }
  const floats = floatsToConvert(tensor);
  return {
    tensor,
    part,
    floats,
    sizeBytes: floats === null
      ? sizeBytes
      : weights / BLOCK_WEIGHTS * BLOCK_BYTES,
  };
}

/** Pairs that lie one after the other are one piece. */
function runsOf(
  pairs: readonly PairPlace[],
): readonly { readonly start: number; readonly end: number }[] {
  const runs: { start: number; end: number }[] = [];
  for (const { end, start } of pairs) {
    const last = runs.at(-1);
    if (last?.end === start) last.end = end;
    else runs.push({ start, end });
  }
  return runs;
}

function startOf(
  version: number,
  tensors: number,
  pairs: number,
): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(24));
  new TextEncoder().encodeInto("GGUF", new Uint8Array(view.buffer));
  view.setUint32(4, version, true);
  setUint64(view, 8, tensors);
  setUint64(view, 16, pairs);
  return new Uint8Array(view.buffer);
}

function pairOf(key: string, value: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(8 + key.length + 8));
  setUint64(view, 0, key.length);
  new TextEncoder().encodeInto(key, new Uint8Array(view.buffer, 8));
  view.setUint32(8 + key.length, UINT32, true);
  view.setUint32(12 + key.length, value, true);
  return new Uint8Array(view.buffer);
}

function tableOf(
  tensors: readonly PlannedTensor[],
  alignment: number,
): Uint8Array<ArrayBuffer> {
  const length = tensors.reduce(
    (sum, { tensor: { dimensions, nameBytes } }) =>
      sum + nameBytes.length + dimensions.length * 8 + 24,
    0,
  );
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let at = 0;
  let dataAt = 0;
  for (const { floats, sizeBytes, tensor } of tensors) {
    const { dimensions, nameBytes, type } = tensor;
    setUint64(view, at, nameBytes.length);
    bytes.set(nameBytes, at + 8);
    at += 8 + nameBytes.length;
    view.setUint32(at, dimensions.length, true);
    at += 4;
    for (const one of dimensions) {
      setUint64(view, at, one);
      at += 8;
    }
    view.setUint32(at, floats === null ? type : Q8_0, true);
    setUint64(view, at + 4, dataAt);
    at += 12;
    dataAt = aligned(dataAt + sizeBytes, alignment);
  }
  return bytes;
}

function setUint64(view: DataView, at: number, value: number): void {
  view.setBigUint64(at, BigInt(value), true);
}

function aligned(at: number, alignment: number): number {
  return Math.ceil(at / alignment) * alignment;
}
