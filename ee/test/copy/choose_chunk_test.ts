import assert from "node:assert/strict";
import { chooseChunk, type KnownSource } from "../../src/copy/choose_chunk.ts";
import type { Chunk } from "../../src/copy/chunk_plan.ts";
import { sha256 } from "../../src/copy/gather.ts";

const CHUNKS: readonly Chunk[] = Array.from({ length: 60 }, (_, index) => ({
  index,
  file: 0,
  position: index,
  offset: index * 16,
  length: 16,
  digest: sha256(new Uint8Array([index])),
}));
const KEYS = [1, 2, 3].map((n) => sha256(new Uint8Array([200, n])));

function source(
  gatherer: string | null,
  held: ReadonlySet<number> | null,
  failed: readonly number[] = [],
): KnownSource {
  return {
    gatherer,
    has: ({ index }) => held?.has(index) ?? true,
    failed: new Set(failed),
  };
}

/** What each of three gatherers asks of the one that has all, in turns, each chunk taken. */
function ask(steps: number, speeds: readonly number[]) {
  const held = KEYS.map(() => new Set<number>());
  const sent: number[] = [];
  for (let step = 0; step < steps; step++) {
    for (const [at, key] of KEYS.entries()) {
      if (step % (speeds[at] ?? 1) !== 0) continue;
      const mine = held[at] as Set<number>;
      const others = KEYS.flatMap((other, n) =>
        other === key ? [] : [source(other, held[n] ?? null)]
      );
      const chunk = chooseChunk({
        missing: CHUNKS.filter(({ index }) => !mine.has(index)),
        start: step * 7,
        isComing: () => false,
        source: source(null, null),
        others,
        self: key,
      });
      if (chunk === undefined) continue;
      mine.add(chunk.index);
      sent.push(chunk.index);
    }
  }
  return { held, sent };
}

Deno.test("chooseChunk has each chunk leave the source once before any leaves it twice", () => {
  const { sent } = ask(20, [1, 1, 1]);
  assert.equal(sent.length, 60);
  // Shares differ in size: whoever is done with its own helps with others'.
  assert.ok(new Set(sent).size >= 57, `${new Set(sent).size}`);
});

Deno.test("chooseChunk waits for no gatherer that is slow", () => {
  const { held, sent } = ask(40, [1, 1, 1000]);
  assert.equal(new Set(sent).size, 60);
  assert.equal(held[0]?.size, 40);
});

Deno.test("chooseChunk gives every gatherer all that is missing in the end", () => {
  const { held } = ask(60, [1, 1, 1]);
  assert.deepEqual(held.map(({ size }) => size), [60, 60, 60]);
});

Deno.test("chooseChunk asks others for what a source did not give as it is", () => {
  const choice = (others: readonly KnownSource[]) =>
    chooseChunk({
      missing: CHUNKS.slice(0, 1),
      start: 0,
      isComing: () => false,
      source: source(null, null, [0]),
      others,
      self: KEYS[0] ?? null,
    });
  assert.equal(choice([source(null, null)]), undefined);
  // Nobody else has it: once more, then.
  assert.equal(choice([source(null, new Set())])?.index, 0);
});
