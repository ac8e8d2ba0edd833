import type { JsonObject, JsonValue } from "../../domain/mod.ts";

const DIMENSIONS = 16;

/**
 * Answer an embedding request with vectors made from the inputs' digests: equal
 * inputs have equal vectors, of length 1, that mean nothing.
 *
 * @param model Name for the answer.
 * @param body The request's body in OpenAI's dialect.
 * @param promptTokens For the usage.
 * @returns The answer.
 */
export async function simulateEmbeddings(
  model: string,
  body: JsonObject,
  promptTokens: number,
): Promise<JsonObject> {
  const base64 = body.encoding_format === "base64";
  const vectors = await Promise.all(inputsOf(body.input).map(vectorOf));
  return {
    object: "list",
    model,
    data: vectors.map((vector, index) => ({
      object: "embedding",
      index,
      embedding: base64
        ? new Uint8Array(vector.buffer).toBase64()
        : Array.from(vector),
    })),
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  };
}

/** One text, several, one list of tokens, or several. */
function inputsOf(input: JsonValue | undefined): readonly JsonValue[] {
  if (!Array.isArray(input)) return [input ?? ""];
  return typeof input[0] === "number" ? [input] : input;
}

async function vectorOf(input: JsonValue): Promise<Float32Array<ArrayBuffer>> {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  const bytes = new TextEncoder().encode(text);
  const digest = new DataView(await crypto.subtle.digest("SHA-256", bytes));
  const vector = Float32Array.from(
    { length: DIMENSIONS },
    (_, at) => digest.getInt16(at * 2, true) + 0.5,
  );
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
