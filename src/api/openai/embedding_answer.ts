import {
  Fault,
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";

/** How a vector is written: an array of numbers, or little-endian float32 in base64. */
export type VectorFormat = "float" | "base64";

/** What the answer to an embedding request has to hold. */
export interface ExpectedVectors {
  readonly count: number;
  readonly format: VectorFormat;
  /** Width the caller asked for, or null for the model's own. */
  readonly dimensions: number | null;
}

/**
 * Tell what the answer to an embedding request has to hold.
 *
 * @param request A request of `parseEmbedding`.
 * @returns What to check the answer against.
 */
export function expectedVectors(request: InferenceRequest): ExpectedVectors {
  const { encoding_format, dimensions } = request.body;
  return {
    count: request.inputCount,
    format: encoding_format === "base64" ? "base64" : "float",
    dimensions: typeof dimensions === "number" ? dimensions : null,
  };
}

/**
 * Check an engine's embeddings and write them as the caller asked (EMB-01,
 * EMB-03): as many vectors as inputs, in their order, of one width, in the
 * format asked for, whatever the engine made of that.
 *
 * @param answer The engine's answer.
 * @param expected What it has to hold.
 * @returns The answer; the very same object where nothing had to change.
 * @throws {Fault} `engine_failed` when a vector is missing, empty or of another width.
 */
export function checkEmbeddings(
  answer: JsonObject,
  expected: ExpectedVectors,
): JsonObject {
  const { data } = answer;
  if (!Array.isArray(data)) throw broken("no list of vectors");
  if (data.length !== expected.count) {
    throw broken(
      `${data.length} vectors for ${expected.count} inputs`,
    );
  }
  const ordered: JsonObject[] = new Array(data.length);
  let width = expected.dimensions;
  let changed = false;
  for (const [position, item] of data.entries()) {
    if (!isJsonObject(item)) throw broken("no object where a vector belongs");
    const index = item.index ?? position;
    if (
      typeof index !== "number" || !Number.isInteger(index) || index < 0 ||
      index >= data.length || ordered[index] !== undefined
    ) throw broken("an index that is out of range or given twice");
    const read = readVector(item.embedding);
    width ??= read.width;
    if (read.width !== width) {
      throw broken(`a vector of ${read.width} numbers instead of ${width}`);
    }
    if (index !== position || item.index === undefined) changed = true;
    if (read.format === expected.format) {
      ordered[index] = item.index === undefined ? { ...item, index } : item;
    } else {
      changed = true;
      ordered[index] = {
        ...item,
        index,
        embedding: writeVector(read.numbers(), expected.format),
      };
    }
  }
  return changed ? { ...answer, data: ordered } : answer;
}

interface ReadVector {
  readonly format: VectorFormat;
  readonly width: number;
  numbers(): readonly number[];
}

function readVector(value: JsonValue | undefined): ReadVector {
  if (typeof value === "string") return readBase64(value);
  if (!Array.isArray(value)) throw broken("no vector for an input");
  if (value.length === 0) throw broken("an empty vector");
  if (!value.every(isFiniteNumber)) throw broken("a vector with a gap in it");
  return { format: "float", width: value.length, numbers: () => value };
}

function isFiniteNumber(value: JsonValue): value is number {
  return Number.isFinite(value);
}

const FLOAT_BYTES = 4;

function readBase64(text: string): ReadVector {
  const bytes = decodeBase64(text);
  if (bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0) {
    throw broken("a base64 vector of no whole count of float32");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const numbers: number[] = [];
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) {
    const one = view.getFloat32(at, true);
    if (!Number.isFinite(one)) throw broken("a vector that is not finite");
    numbers.push(one);
  }
  return { format: "base64", width: numbers.length, numbers: () => numbers };
}

function decodeBase64(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text);
  } catch (error) {
    throw broken("a vector that is no base64", error);
  }
}

function writeVector(
  numbers: readonly number[],
  format: VectorFormat,
): JsonValue {
  if (format === "float") return numbers;
  const bytes = new Uint8Array(numbers.length * FLOAT_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [at, one] of numbers.entries()) {
    view.setFloat32(at * FLOAT_BYTES, one, true);
  }
  return bytes.toBase64();
}

function broken(what: string, cause?: unknown): Fault {
  return new Fault(
    "engine_failed",
    `The engine's embeddings can not be used: it sent ${what}`,
    { origin: "engine", cause },
  );
}
