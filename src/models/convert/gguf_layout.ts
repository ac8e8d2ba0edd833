import type { OpenFile } from "../../platform/mod.ts";
import { GgufCursor } from "../gguf_cursor.ts";
import { type GgufHeader, readGgufHeader } from "../gguf_header.ts";
import { tensorSizeBytes } from "../gguf_tensor_type.ts";
import { readString, skipValue } from "../gguf_value.ts";

const LONGEST_NAME_BYTES = 1_024;
const DEFAULT_ALIGNMENT = 32;
const ALIGNMENT_KEY = "general.alignment";
const UINT32 = 4;

/** A metadata pair as it lies in the file. */
export interface PairPlace {
  readonly key: string;
  /** Where it begins and ends, key and value together, in bytes. */
  readonly start: number;
  readonly end: number;
}

/** A tensor as the file's table has it. */
export interface TensorPlace {
  /** As it is written, which need not be text. */
  readonly nameBytes: Uint8Array<ArrayBuffer>;
  readonly name: string;
  /** Lengths of its dimensions, the contiguous one first. */
  readonly dimensions: readonly number[];
  /** Number of its ggml type. */
  readonly type: number;
  /** Where its data begins in the file, in bytes. */
  readonly start: number;
  /** How many weights it has. */
  readonly weights: number;
  /** Size of its data; null for a type that is not known. */
  readonly sizeBytes: number | null;
}

/** Where everything lies in a GGUF file. */
export interface GgufLayout {
  readonly header: GgufHeader;
  /** In the order of the file. */
  readonly pairs: readonly PairPlace[];
  /** In the order of the file. */
  readonly tensors: readonly TensorPlace[];
  /** Bytes that data is aligned to. */
  readonly alignment: number;
}

/**
 * Find out where everything lies in a GGUF file.
 *
 * @param file The open file.
 * @param sizeBytes Its size.
 * @throws {GgufError} When it is no sound GGUF.
 * @throws {FileError} When it can not be read.
 */
export async function readGgufLayout(
  file: Pick<OpenFile, "read">,
  sizeBytes: number,
): Promise<GgufLayout> {
  // Counts, types and sizes are sound from here on.
  const header = await readGgufHeader(file, sizeBytes);
  const cursor = new GgufCursor(file, sizeBytes);
  await cursor.fill(24);
  cursor.skip(16);
  const pairCount = cursor.u64();
  const pairs: PairPlace[] = [];
  let alignment = DEFAULT_ALIGNMENT;
  for (let pair = 0; pair < pairCount; pair++) {
    const start = cursor.position;
    const key = await readString(cursor, LONGEST_NAME_BYTES, "A key");
    await cursor.fill(4);
    const type = cursor.u32();
    if (key === ALIGNMENT_KEY && type === UINT32) {
      await cursor.fill(4);
      alignment = cursor.u32();
    } else await skipValue(cursor, type);
    pairs.push({ key, start, end: cursor.position });
  }
  const tensors: TensorPlace[] = [];
  for (let tensor = 0; tensor < header.tensorCount; tensor++) {
    tensors.push(await readTensor(cursor));
  }
  const dataAt = Math.ceil(cursor.position / alignment) * alignment;
  return {
    header,
    pairs,
    tensors: tensors.map((tensor) => ({
      ...tensor,
      start: tensor.start + dataAt,
    })),
    alignment,
  };
}

/** Its place is counted from the start of the data. */
async function readTensor(cursor: GgufCursor): Promise<TensorPlace> {
  await cursor.fill(8);
  const length = cursor.u64();
  await cursor.fill(length);
  const nameBytes = cursor.bytes(length);
  await cursor.fill(4);
  const count = cursor.u32();
  await cursor.fill(count * 8 + 12);
  const dimensions: number[] = [];
  for (let at = 0; at < count; at++) dimensions.push(cursor.u64());
  const type = cursor.u32();
  const weights = dimensions.reduce((product, one) => product * one, 1);
  return {
    nameBytes,
    name: new TextDecoder().decode(nameBytes),
    dimensions,
    type,
    start: cursor.u64(),
    weights,
    sizeBytes: tensorSizeBytes(type, weights),
  };
}
