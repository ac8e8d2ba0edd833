import {
  type EngineAnswer,
  Fault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type PieceSource,
  sourceOf,
} from "../domain/mod.ts";

/** The largest answer that is collected before it is passed on. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Collect a whole body.
 *
 * @param source What to read; cancelled when the signal aborts or the bound is passed.
 * @param signal Ends the reading with its reason.
 * @param maxBytes Bound.
 * @returns Its pieces, in order.
 * @throws {Fault} When the body breaks off or exceeds the bound.
 */
export async function collectBody(
  source: PieceSource,
  signal: AbortSignal,
  maxBytes: number = MAX_ANSWER_BYTES,
): Promise<readonly Uint8Array[]> {
  const stop = () => discard(source, signal.reason);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for (;;) {
      const piece = await source.read();
      if (signal.aborted) throw signal.reason;
      if (piece === undefined) return pieces;
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > maxBytes) {
        discard(source, "too large");
        throw new Fault(
          "engine_failed",
          `The engine's answer exceeds ${maxBytes} bytes`,
          { origin: "engine" },
        );
      }
    }
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    if (thrown instanceof Fault) throw thrown;
    throw new Fault("engine_failed", "The engine broke its answer off", {
      origin: "engine",
      cause: thrown,
    });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The bytes of an answer, piece by piece. */
export function piecesOf({ body, source }: EngineAnswer): PieceSource {
  return source ?? sourceOf(body);
}

/** Give an answer up: nobody is left whom its failure to end would tell anything. */
export function discardAnswer(answer: EngineAnswer): void {
  discard(answer.source ?? answer.body, undefined);
}

function discard(
  body: Pick<PieceSource, "cancel">,
  reason: unknown,
): void {
  body.cancel(reason).then(undefined, ignore);
}

function ignore(): void {}

/**
 * Parse collected pieces as a JSON object.
 *
 * @param pieces UTF-8, cut anywhere.
 * @returns The object, or undefined when they are none.
 */
export function parseWhole(
  pieces: readonly Uint8Array[],
): JsonObject | undefined {
  const text = textOf(pieces);
  let parsed: JsonValue;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
  return isJsonObject(parsed) ? parsed : undefined;
}

const CLOSES = new Set([0x7d, 0x5d]);
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Whether collected pieces end as a JSON object or array does. Cheap however
 * long they are: what broke off without a word does not.
 *
 * @param pieces The bytes, cut anywhere.
 */
export function endsAsJson(pieces: readonly Uint8Array[]): boolean {
  for (const piece of pieces.toReversed()) {
    const last = piece.findLast((byte) => !SPACES.has(byte));
    if (last !== undefined) return CLOSES.has(last);
  }
  return false;
}

function textOf(pieces: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  const [only] = pieces;
  // Decoding what may go on costs a decoder of the runtime.
  if (only !== undefined && pieces.length === 1) return decoder.decode(only);
  let text = "";
  for (const piece of pieces) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

/**
 * A stream of pieces that are already here.
 *
 * @param pieces What it gives, in order.
 * @returns The stream.
 */
export function streamOf(
  pieces: readonly Uint8Array[],
): ReadableStream<Uint8Array> {
  const left = pieces.filter((piece) => piece.length > 0).reverse();
  return new ReadableStream({
    pull(controller) {
      const piece = left.pop();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  }, { highWaterMark: 0 });
}
