import {
  isJsonObject,
  type JsonValue,
  parseExactJson,
} from "../../domain/mod.ts";
import type { ByteTransform } from "../byte_transform.ts";

/** Longest line that is held back for rewriting; a longer one passes as it is. */
const LONGEST_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Make every event of a stream name the model as the caller did. An engine that
 * already does costs one look at the first event; after it, bytes pass as they
 * are. Lines, not reads, are decoded, so that no character is ever cut (SSE-01).
 *
 * @param asked The name the caller used.
 * @returns A transform over server-sent events.
 */
export function renameInEvents(
  asked: string,
): ByteTransform {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let mode: "undecided" | "rename" | "pass" = "undecided";

  function hold(bytes: Uint8Array): void {
    held.push(bytes);
    heldBytes += bytes.length;
  }
  function release(): Uint8Array {
    const whole = new Uint8Array(heldBytes);
    let at = 0;
    for (const chunk of held) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    held = [];
    heldBytes = 0;
    return whole;
  }
  function renameLine(line: string): string {
    if (mode === "pass" || !line.startsWith("data:")) return line;
    const event = parseEvent(line.slice("data:".length));
    if (!isJsonObject(event) || typeof event.model !== "string") return line;
    if (mode === "undecided") mode = event.model === asked ? "pass" : "rename";
    if (event.model === asked) return line;
    const end = line.endsWith("\r") ? "\r" : "";
    return `data: ${JSON.stringify({ ...event, model: asked })}${end}`;
  }

  return {
    transform(chunk, sink) {
      if (mode === "pass") {
        sink.enqueue(chunk);
        return;
      }
      const cut = chunk.lastIndexOf(NEWLINE) + 1;
      if (cut === 0 && heldBytes + chunk.length <= LONGEST_LINE_BYTES) {
        hold(chunk);
        return;
      }
      hold(cut === 0 ? chunk : chunk.subarray(0, cut));
      const bytes = release();
      const rest = cut === 0
        ? chunk.subarray(chunk.length)
        : chunk.subarray(cut);
      const text = decoder.decode(bytes);
      const renamed = text.split("\n").map(renameLine).join("\n");
      sink.enqueue(renamed === text ? bytes : encoder.encode(renamed));
      if (rest.length === 0) return;
      if (isPassing()) sink.enqueue(rest);
      else hold(rest);
    },
    flush(sink) {
      if (heldBytes > 0) sink.enqueue(release());
    },
  };

  function isPassing(): boolean {
    return mode === "pass";
  }
}

const NEWLINE = 0x0a;

function parseEvent(data: string): JsonValue | undefined {
  try {
    return parseExactJson(data);
  } catch {
    // `[DONE]`, and events of several lines, name no model.
    return undefined;
  }
}
