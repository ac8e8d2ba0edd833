import assert from "node:assert/strict";
import { type ByteTransform, through } from "../../src/api/byte_transform.ts";
import { sourceOf } from "../../src/domain/mod.ts";

const encoder = new TextEncoder();

/** Doubles each chunk; holds "-" back; says "!" at the end. */
function doubling(): ByteTransform {
  return {
    transform(chunk, sink) {
      if (new TextDecoder().decode(chunk) === "-") return;
      sink.enqueue(chunk);
      sink.enqueue(chunk);
    },
    flush: (sink) => sink.enqueue(encoder.encode("!")),
  };
}

/** A source of these chunks that counts what was read of it. */
function countedSource(chunks: readonly string[]) {
  const left = [...chunks];
  const seen = { reads: 0, cancelled: "" };
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      seen.reads++;
      const next = left.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(encoder.encode(next));
    },
    cancel(reason) {
      seen.cancelled = String(reason);
    },
  }, { highWaterMark: 0 });
  return { source: sourceOf(stream), seen };
}

Deno.test("through sends each chunk through all transforms, and each one's end through those behind it", async () => {
  const { source } = countedSource(["a", "-", "b"]);
  const text = await new Response(
    through(source, [doubling(), doubling()]) as BodyInit,
  ).text();
  assert.equal(text, "aaaabbbb!!!");
});

Deno.test("through reads no more than is asked of it", async () => {
  const { source, seen } = countedSource(["-", "a", "b", "c"]);
  const reader = through(source, [doubling()]).getReader();
  assert.equal(seen.reads, 0);
  await reader.read();
  await reader.read();
  assert.equal(seen.reads, 2);
  await reader.cancel("enough");
  assert.equal(seen.cancelled, "enough");
});

Deno.test("through ends with the error of the body, and with a transform's, of which the body hears", async () => {
  const broken = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new TypeError("Broken off")),
  }, { highWaterMark: 0 });
  await assert.rejects(
    through(sourceOf(broken), [doubling()]).getReader().read(),
    /Broken off/,
  );
  const { source, seen } = countedSource(["a", "b"]);
  const failing: ByteTransform = {
    transform() {
      throw new RangeError("Too much");
    },
    flush() {},
  };
  await assert.rejects(
    through(source, [failing]).getReader().read(),
    /Too much/,
  );
  assert.match(seen.cancelled, /Too much/);
});
