import assert from "node:assert/strict";
import fc from "fast-check";
import { createSeededEntropy, createSystemClock } from "@covey/core/platform";
import { ChunkMap } from "../../src/copy/chunk_map.ts";
import type { Chunk } from "../../src/copy/chunk_plan.ts";
import { CopyError, NotHeldError } from "../../src/copy/copy_error.ts";
import { type ChunkSource, Gather, sha256 } from "../../src/copy/gather.ts";

const RUNS = Number(Deno.env.get("COVEY_FUZZ") ?? 2000);

/** How a source spoils what it gives. */
type Fault =
  | { readonly kind: "flip"; readonly at: number; readonly bit: number }
  | { readonly kind: "short" }
  | { readonly kind: "long" }
  | { readonly kind: "other"; readonly step: number }
  | { readonly kind: "missing" }
  | { readonly kind: "broken" };

const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({
    kind: fc.constant("flip" as const),
    at: fc.nat(1000),
    bit: fc.nat(7),
  }),
  fc.constant({ kind: "short" as const }),
  fc.constant({ kind: "long" as const }),
  fc.record({ kind: fc.constant("other" as const), step: fc.nat(7) }),
  fc.constant({ kind: "missing" as const }),
  fc.constant({ kind: "broken" as const }),
);

/** Waits are over at once, so that rests after failures cost nothing. */
const quickClock = { ...createSystemClock(), sleep: () => Promise.resolve() };

interface Model {
  readonly whole: Uint8Array<ArrayBuffer>;
  readonly chunks: readonly Chunk[];
}

function modelOf(seed: number, count: number, size: number): Model {
  const whole = createSeededEntropy(seed).bytes(count * size - 1);
  const chunks = Array.from({ length: count }, (_, index) => {
    const offset = index * size;
    const bytes = whole.subarray(offset, offset + size);
    return {
      index,
      file: 0,
      position: index,
      offset,
      length: bytes.length,
      digest: sha256(bytes),
    };
  });
  return { whole, chunks };
}

function sourceOf(
  name: string,
  { chunks, whole }: Model,
  faults: ReadonlyMap<number, Fault>,
): ChunkSource {
  return {
    name,
    has: () => true,
    async fetch(chunk, into) {
      await Promise.resolve();
      const spoil = faults.get(chunk.index);
      const given = spoil?.kind === "other"
        ? chunks[(chunk.index + spoil.step) % chunks.length] ?? chunk
        : chunk;
      const end = given.offset + given.length;
      into.set(whole.subarray(given.offset, end));
      switch (spoil?.kind) {
        case "flip": {
          const at = spoil.at % chunk.length;
          into[at] = (into[at] ?? 0) ^ 1 << spoil.bit;
          return given.length;
        }
        case "short":
          return given.length - 1;
        case "long":
          return given.length + 1;
        case "missing":
          throw new NotHeldError("Gone");
        case "broken":
          throw new Error("The connection broke");
        default:
          return given.length;
      }
    },
  };
}

function gather(
  { chunks, whole }: Model,
  sources: readonly ChunkSource[],
  held = new ChunkMap(chunks.length),
) {
  const written = new Uint8Array(whole.length);
  const blamed: string[] = [];
  let writes = 0;
  const entropy = createSeededEntropy(7);
  const one = new Gather({
    chunks,
    held,
    clock: quickClock,
    draw: () => entropy.float(),
    pace: () => Promise.resolve({ [Symbol.dispose]() {} }),
    write(chunk, bytes) {
      writes++;
      written.set(bytes, chunk.offset);
      return Promise.resolve();
    },
    onBad: (source) => blamed.push(source),
  });
  for (const source of sources) one.offer(source);
  return { blamed, held, one, written, writes: () => writes };
}

Deno.test("gathering takes nothing that does not match, and gets all where a good source exists", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(1_000_000),
      fc.integer({ min: 1, max: 24 }),
      fc.array(fc.array(fc.tuple(fc.nat(23), fault), { maxLength: 24 }), {
        maxLength: 3,
      }),
      async (seed, count, spoiled) => {
        const model = modelOf(seed, count, 16);
        const sources = [
          ...spoiled.map((faults, at) =>
            sourceOf(`bad ${at}`, model, new Map(faults))
          ),
          sourceOf("good", model, new Map()),
        ];
        const { blamed, held, one, writes, written } = gather(
          model,
          sources,
        );
        await one.finish(new AbortController().signal);
        assert.deepEqual(written, model.whole);
        assert.equal(held.count, count);
        assert.ok(writes() >= count);
        assert.ok(!blamed.includes("good"));
        for (const name of new Set(blamed)) {
          // The third ends it; more may have been on their way in its other lanes.
          assert.ok(blamed.filter((other) => other === name).length <= 5);
        }
      },
    ),
    { numRuns: RUNS },
  );
});

Deno.test("gathering ends with nothing accepted when every source gives bad chunks", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(1_000_000),
      fc.integer({ min: 3, max: 12 }),
      fc.nat(7),
      async (seed, count, bit) => {
        const model = modelOf(seed, count, 16);
        const flip = { kind: "flip" as const, at: seed, bit };
        const faults = new Map(
          model.chunks.map(({ index }) => [index, flip]),
        );
        const { held, one, writes } = gather(model, [
          sourceOf("one", model, faults),
          sourceOf("two", model, faults),
        ]);
        await assert.rejects(
          one.finish(new AbortController().signal),
          CopyError,
        );
        assert.equal(held.count, 0);
        assert.equal(writes(), 0);
      },
    ),
    { numRuns: Math.ceil(RUNS / 10) },
  );
});

Deno.test("gathering hashes what came when it is told, and takes no chunk of which less or more was told", async () => {
  const model = modelOf(5, 6, 16);
  const told = fc.array(fc.nat(20), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.array(told, { maxLength: 6 }), async (steps) => {
      const good = sourceOf("good", model, new Map());
      const { one, written } = gather(model, [{
        ...good,
        async fetch(chunk, into, signal, arrived) {
          const count = await good.fetch(chunk, into, signal, arrived);
          for (const step of steps[chunk.index] ?? []) arrived(step);
          return count;
        },
      }]);
      await one.finish(new AbortController().signal);
      assert.deepEqual(written, model.whole);
    }),
    { numRuns: 100 },
  );
  // Bytes that change after they were told are not those that are written.
  const { blamed, one, writes } = gather(model, [{
    name: "liar",
    has: () => true,
    fetch(chunk, into, _signal, arrived) {
      into.fill(0);
      arrived(chunk.length);
      return Promise.resolve(chunk.length);
    },
  }]);
  await assert.rejects(one.finish(new AbortController().signal), CopyError);
  assert.ok(blamed.length >= 3);
  assert.equal(writes(), 0);
});

Deno.test("gathering asks for what is missing alone, and goes on with a source that comes later", async () => {
  const model = modelOf(3, 10, 16);
  const held = new ChunkMap(10);
  for (const index of [0, 1, 2, 3, 4, 5]) held.add(index);
  const asked: number[] = [];
  const good = sourceOf("late", model, new Map());
  const { one } = gather(model, [], held);
  const finished = one.finish(new AbortController().signal);
  one.offer({
    ...good,
    fetch(chunk, ...rest) {
      asked.push(chunk.index);
      return good.fetch(chunk, ...rest);
    },
  });
  await finished;
  assert.deepEqual(asked.sort(), [6, 7, 8, 9]);
});

Deno.test("gathering takes the chunks that fewest sources have first", async () => {
  const model = modelOf(4, 8, 16);
  const order: number[] = [];
  const origin = sourceOf("origin", model, new Map());
  const relay: ChunkSource = {
    ...sourceOf("relay", model, new Map()),
    has: ({ index }) => index < 4,
    fetch: () => Promise.reject(new Error("Slow to begin")),
  };
  const { one } = gather(model, [relay, {
    ...origin,
    fetch(chunk, ...rest) {
      order.push(chunk.index);
      return origin.fetch(chunk, ...rest);
    },
  }]);
  await one.finish(new AbortController().signal);
  assert.ok(order.slice(0, 4).every((index) => index >= 4), `${order}`);
});

Deno.test("ChunkMap reads back what it wrote and refuses other lengths", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(99)), (indexes) => {
      const map = new ChunkMap(100);
      for (const index of indexes) map.add(index);
      const again = ChunkMap.fromHex(map.toHex(), 100);
      assert.equal(again?.count, indexes.length);
      assert.ok(indexes.every((index) => again?.has(index)));
    }),
  );
  assert.equal(ChunkMap.fromHex("ff", 100), undefined);
  assert.equal(ChunkMap.fromHex("zz", 8), undefined);
});
