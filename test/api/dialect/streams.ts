import { sourceOf } from "../../../src/domain/mod.ts";
import {
  type ByteTransform,
  through as sendThrough,
} from "../../../src/api/byte_transform.ts";
import fc from "fast-check";

/** One chunk of the internal dialect. */
export function chunk(delta: unknown, finish: string | null = null): string {
  return `data: ${
    JSON.stringify({
      id: "c1",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
  }\n\n`;
}

/** The usage chunk of a stream. */
export const USAGE: string = `data: ${
  JSON.stringify({
    choices: [],
    usage: {
      prompt_tokens: 11,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 4 },
    },
  })
}\n\n`;

/** The terminator. */
export const DONE = "data: [DONE]\n\n";

/** A text stream with characters of two, three and four bytes (SSE-01). */
export const WIDE: string = chunk({ role: "assistant", content: "" }) +
  chunk({ content: "北🌍é" }) + chunk({ content: " fine" }) +
  chunk({}, "stop") + USAGE + DONE;

/** Two parallel calls, the first thing the answer says (TRN-01). */
export const CALLS: string = chunk({
  role: "assistant",
  content: null,
  tool_calls: [{
    index: 0,
    id: "c1",
    type: "function",
    function: { name: "f", arguments: "" },
  }],
}) +
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] }) +
  chunk({ tool_calls: [{ index: 0, function: { arguments: " 1}" } }] }) +
  chunk({
    tool_calls: [{
      index: 1,
      id: "c2",
      type: "function",
      function: { name: "g", arguments: '{"b":12345678901234567890}' },
    }],
  }) + chunk({}, "tool_calls") + USAGE + DONE;

/** An event of two calls as engines send them that do not number calls (SSE-09). */
export function unnumbered(index: number | undefined, ids: boolean): string {
  const call = (id: string, name: string, args: string) => ({
    ...(index === undefined ? {} : { index }),
    ...(ids ? { id } : {}),
    type: "function",
    function: { name, arguments: args },
  });
  return chunk({ role: "assistant", tool_calls: [call("a", "f", '{"x":1}')] }) +
    chunk({ tool_calls: [call("b", "g", '{"y":2}')] }) +
    chunk({}, "stop") + DONE;
}

/** Any way to cut a text's bytes into pieces. */
export function cuts(
  text: string,
): fc.Arbitrary<readonly Uint8Array<ArrayBuffer>[]> {
  const bytes = new TextEncoder().encode(text);
  return fc.uniqueArray(fc.nat(bytes.length), { maxLength: 40 }).map(
    (places) => {
      const at = [0, ...places.sort((a, b) => a - b), bytes.length];
      return at.slice(1).map((end, n) => bytes.slice(at[n], end));
    },
  );
}

/** Bytes one at a time. */
export function oneByOne(text: string): readonly Uint8Array<ArrayBuffer>[] {
  return [...new TextEncoder().encode(text)].map((byte) => Uint8Array.of(byte));
}

/** Run pieces through a transform and read what comes out as strict UTF-8. */
export async function through(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  transform: ByteTransform,
): Promise<string> {
  const stream = sendThrough(sourceOf(ReadableStream.from(pieces)), [
    transform,
  ]);
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  const blob = new Blob(parts.map((part) => new Uint8Array(part)));
  return new TextDecoder("utf-8", { fatal: true })
    .decode(await blob.arrayBuffer());
}

/** The data of each event of a stream, parsed. */
// deno-lint-ignore no-explicit-any
export function eventsOf(text: string): any[] {
  return text.split("\n").filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)));
}
