import type { ModelShape } from "../domain/mod.ts";
import type { OpenFile } from "../platform/mod.ts";
import { GgufCursor } from "./gguf_cursor.ts";
import { GgufError } from "./gguf_error.ts";
import { readString, SCALAR_BYTES, skipValue, STRING } from "./gguf_value.ts";
import { shapeOf } from "./model_shape.ts";
import { tensorSizeBytes } from "./gguf_tensor_type.ts";

const MOST_PAIRS = 65_536;
const MOST_TENSORS = 262_144;
/** The format allows 65,535; no writer comes near it. */
const LONGEST_KEY_BYTES = 1_024;
const LONGEST_KEPT_STRING_BYTES = 256;
const MOST_KEPT_NUMBERS = 256;
const MOST_DIMENSIONS = 4;
const DEFAULT_ALIGNMENT = 32;
const LARGEST_ALIGNMENT = 1 << 20;

/** What Covey wants to know from a GGUF header. */
export interface GgufHeader {
  readonly version: number;
  /** `general.architecture`, or null where it is not said (parts of a split model). */
  readonly architecture: string | null;
  /** `general.type`, for example `model`, `mmproj` or `adapter`. */
  readonly type: string | null;
  /** Tokens the model was trained for. */
  readonly contextLength: number | null;
  /** How an embedding model pools: 0 none, 1 mean, 2 first, 3 last, 4 rank. */
  readonly poolingType: number | null;
  /** `general.file_type`: how most weights are quantised, as llama.cpp numbers it. */
  readonly fileType: number | null;
  /** Parts of a split model, by the file's own account. */
  readonly splitCount: number | null;
  readonly tensorCount: number;
  /** What its memory is estimated from, or null where the header does not say. */
  readonly shape: ModelShape | null;
}

/**
 * Read and check the header of a GGUF file (versions 2 and 3, little endian),
 * and that the file is as long as its tensor table says. Nothing is allocated
 * or read by a number that the file states without a bound of our own.
 *
 * @param file The open file.
 * @param sizeBytes Its size.
 * @returns The facts.
 * @throws {GgufError} When it is no sound GGUF.
 * @throws {FileError} When it can not be read.
 */
export async function readGgufHeader(
  file: Pick<OpenFile, "read">,
  sizeBytes: number,
): Promise<GgufHeader> {
  const cursor = new GgufCursor(file, sizeBytes);
  const version = await readMagic(cursor, sizeBytes);
  await cursor.fill(16);
  const tensorCount = cursor.u64();
  const pairCount = cursor.u64();
  refuseAbove(tensorCount, MOST_TENSORS, "tensors");
  refuseAbove(pairCount, MOST_PAIRS, "metadata pairs");
  const kept: Kept = { strings: new Map(), numbers: new Map() };
  for (let pair = 0; pair < pairCount; pair++) await readPair(cursor, kept);
  await checkTensors(cursor, sizeBytes, tensorCount, kept);
  const architecture = kept.strings.get("general.architecture") ?? null;
  const prefixed = (name: string) =>
    architecture === null
      ? null
      : kept.numbers.get(`${architecture}.${name}`) ?? null;
  return {
    version,
    architecture,
    type: kept.strings.get("general.type") ?? null,
    contextLength: prefixed("context_length"),
    poolingType: prefixed("pooling_type"),
    fileType: kept.numbers.get("general.file_type") ?? null,
    splitCount: kept.numbers.get("split.count") ?? null,
    tensorCount,
    shape: shapeOf(prefixed, kept.numbers.get(VOCABULARY) ?? 0),
  };
}

/** The few values that are worth keeping while the rest is passed over. */
interface Kept {
  readonly strings: Map<string, string>;
  readonly numbers: Map<string, number>;
}

const KEPT_STRINGS: ReadonlySet<string> = new Set([
  "general.architecture",
  "general.type",
]);
const KEPT_NUMBER =
  /^(general\.(alignment|file_type)|split\.count|.{1,64}\.(context_length|pooling_type|block_count|embedding_length|vocab_size|attention\.(head_count|head_count_kv|key_length|value_length|kv_lora_rank)|rope\.dimension_count))$/;
/** Kept is how many there are. */
const VOCABULARY = "tokenizer.ggml.tokens";

async function readMagic(
  cursor: GgufCursor,
  sizeBytes: number,
): Promise<number> {
  if (sizeBytes === 0) throw new GgufError("empty", "The file is empty");
  const startBytes = Math.min(sizeBytes, 32);
  await cursor.fill(startBytes);
  const start = cursor.peekText(startBytes);
  if (start.startsWith("version https://git-lfs")) {
    throw new GgufError(
      "pointer",
      "The file is a Git LFS pointer, not the model: fetch the weights with `git lfs pull`",
    );
  }
  if (!start.startsWith("GGUF")) {
    throw new GgufError("not_gguf", "The file is no GGUF");
  }
  cursor.skip(4);
  await cursor.fill(4);
  const version = cursor.u32();
  if (version !== 0 && (version & 0xffff) === 0) {
    throw new GgufError(
      "unsupported",
      "The file is a big-endian GGUF: convert it to little endian",
    );
  }
  if (version !== 2 && version !== 3) {
    throw new GgufError(
      "unsupported",
      `The file is GGUF version ${version}; 2 and 3 are understood`,
    );
  }
  return version;
}

async function readPair(cursor: GgufCursor, kept: Kept): Promise<void> {
  const key = await readString(cursor, LONGEST_KEY_BYTES, "A key");
  if (key === "") throw new GgufError("bad_header", "A metadata key is empty");
  await cursor.fill(4);
  const type = cursor.u32();
  if (type === STRING && KEPT_STRINGS.has(key)) {
    const value = await readString(cursor, LONGEST_KEPT_STRING_BYTES, key);
    kept.strings.set(key, value);
    return;
  }
  const bytes = SCALAR_BYTES.get(type);
  if (bytes !== undefined && KEPT_NUMBER.test(key)) {
    await cursor.fill(bytes);
    const value = readUnsigned(cursor, type, bytes);
    if (value !== null && kept.numbers.size < MOST_KEPT_NUMBERS) {
      kept.numbers.set(key, value);
    }
    return;
  }
  const counted = await skipValue(cursor, type);
  if (key === VOCABULARY && counted !== null) kept.numbers.set(key, counted);
}

/** Read an integer that can not be negative in earnest; null for other kinds. */
function readUnsigned(
  cursor: GgufCursor,
  type: number,
  bytes: number,
): number | null {
  switch (type) {
    case 0:
    case 1:
      return cursor.u8();
    case 2:
    case 3:
      return cursor.u16();
    case 4:
    case 5:
      return cursor.u32();
    case 10:
    case 11:
      return cursor.u64();
    default:
      cursor.skip(bytes);
      return null;
  }
}

async function checkTensors(
  cursor: GgufCursor,
  sizeBytes: number,
  tensorCount: number,
  kept: Kept,
): Promise<void> {
  let neededBytes = 0;
  for (let tensor = 0; tensor < tensorCount; tensor++) {
    neededBytes = Math.max(neededBytes, await readTensorEnd(cursor));
  }
  if (tensorCount === 0) return;
  const alignment = kept.numbers.get("general.alignment") ?? DEFAULT_ALIGNMENT;
  if (
    alignment < 1 || alignment > LARGEST_ALIGNMENT ||
    (alignment & (alignment - 1)) !== 0
  ) {
    throw new GgufError(
      "bad_header",
      `The header asks for an alignment of ${alignment}`,
    );
  }
  const dataAt = Math.ceil(cursor.position / alignment) * alignment;
  if (dataAt + neededBytes > sizeBytes) {
    throw new GgufError(
      "truncated",
      `The file is truncated: it has ${sizeBytes} of ${
        dataAt + neededBytes
      } bytes, copy or pull it again`,
    );
  }
}

/** Where a tensor ends, counted from the start of the data. */
async function readTensorEnd(cursor: GgufCursor): Promise<number> {
  const name = await readString(cursor, LONGEST_KEY_BYTES, "A tensor's name");
  await cursor.fill(4);
  const dimensions = cursor.u32();
  if (dimensions > MOST_DIMENSIONS) {
    throw new GgufError(
      "bad_header",
      `The tensor ${JSON.stringify(name)} has ${dimensions} dimensions`,
    );
  }
  await cursor.fill(dimensions * 8 + 12);
  let weights = 1;
  for (let at = 0; at < dimensions; at++) weights *= cursor.u64();
  const type = cursor.u32();
  const offset = cursor.u64();
  const end = offset + (tensorSizeBytes(type, weights) ?? 0);
  if (!Number.isSafeInteger(end)) {
    throw new GgufError(
      "bad_header",
      `The tensor ${JSON.stringify(name)} has an impossible size`,
    );
  }
  return end;
}

function refuseAbove(count: number, most: number, what: string): void {
  if (count <= most) return;
  throw new GgufError(
    "bad_header",
    `The header claims ${count} ${what}; ${most} are allowed`,
  );
}
