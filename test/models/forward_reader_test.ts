import assert from "node:assert/strict";
import fc from "fast-check";
import { ForwardReader } from "../../src/models/pull/forward_reader.ts";

async function* inPieces(
  bytes: Uint8Array<ArrayBuffer>,
  sizes: readonly number[],
) {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield await Promise.resolve(bytes.slice(at, at + size));
    at += size;
  }
}

Deno.test("ForwardReader gives the bytes of a file at rising places, however they come", async () => {
  const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
  const steps = fc.array(
    fc.record({ skip: fc.nat(30), length: fc.nat(60) }),
    { maxLength: 20 },
  );
  await fc.assert(fc.asyncProperty(
    fc.uint8Array({ maxLength: 400 }),
    pieces,
    steps,
    async (array, sizes, reads) => {
      const bytes = Uint8Array.from(array);
      const reader = new ForwardReader(inPieces(bytes, sizes));
      let offset = 0;
      for (const { length, skip } of reads) {
        offset += skip;
        const expected = bytes.slice(offset, offset + length);
        assert.deepEqual(await reader.read(offset, length), expected);
      }
    },
  ));
});

Deno.test("ForwardReader takes no more than is asked for, and knows when there is no more", async () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, at) => at);
  const reader = new ForwardReader(inPieces(bytes, [10]));
  await reader.read(0, 15);
  assert.equal(reader.takenBytes, 20);
  await reader.read(5, 15);
  assert.equal(reader.takenBytes, 20);
  assert.equal(reader.hasEnded, false);
  await assert.rejects(reader.read(4, 1), RangeError);
  assert.deepEqual(await reader.read(95, 10), bytes.slice(95));
  assert.deepEqual(await reader.read(200, 10), new Uint8Array());
  assert.equal(reader.hasEnded, true);
});
