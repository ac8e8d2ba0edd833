import assert from "node:assert/strict";
import fc from "fast-check";
import { Fault } from "../../src/domain/mod.ts";
import { SseEvents } from "../../src/router/sse_events.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(bytes.slice(at, at + size));
    at += size;
  }
  chunks.push(bytes.slice(at));
  return chunks;
}

function split(chunks: readonly Uint8Array[]): string[] {
  const cutter = new SseEvents();
  const events = chunks.flatMap((chunk) => cutter.push(chunk));
  return [...events, cutter.end()].map((event) => event.toHex());
}

Deno.test("SseEvents gives the same events and bytes for any chunking (SSE-01)", () => {
  const line = fc.oneof(
    fc.constantFrom("data: 北🌍é", ": c", "data:", "event: x", "data: a\rb"),
    fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", "")),
  );
  const end = fc.constantFrom("\n", "\r\n");
  const stream = fc.array(fc.tuple(line, end, fc.option(end))).map((lines) =>
    lines.map(([text, lf, blank]) => text + lf + (blank ?? "")).join("")
  );
  fc.assert(fc.property(
    stream,
    fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 40 }),
    (text, sizes) => {
      const bytes = encoder.encode(text);
      const whole = split([bytes]);
      assert.deepEqual(split(cut(bytes, sizes)), whole);
      assert.equal(whole.join(""), bytes.toHex());
    },
  ));
});

Deno.test("SseEvents ends an event at a blank line of either line ending", () => {
  const cutter = new SseEvents();
  const text = "data: 1\n\ndata: 2\r\n\r\n: c\n\ndata: 3";
  const events = cutter.push(encoder.encode(text));
  assert.deepEqual(events.map((event) => decoder.decode(event)), [
    "data: 1\n\n",
    "data: 2\r\n\r\n",
    ": c\n\n",
  ]);
  assert.equal(decoder.decode(cutter.end()), "data: 3");
  assert.equal(cutter.end().length, 0);
});

Deno.test("SseEvents refuses an event beyond its bound", () => {
  const cutter = new SseEvents(10);
  assert.equal(cutter.push(encoder.encode("data: 1\n\ndata: 12")).length, 1);
  assert.throws(() => cutter.push(encoder.encode("345")), Fault);
});
