import assert from "node:assert/strict";
import fc from "fast-check";
import {
  fitsInto,
  type MemoryNeed,
  neededMemory,
  roomOnCards,
  splitMemory,
} from "../../src/domain/mod.ts";

const GB = 1e9;

/** A model of 32 layers: 0.5 GB each with what they keep, as much for the words, and 1 GB of buffers. */
const NEED: MemoryNeed = {
  weightsBytes: 13.2 * GB,
  cacheBytes: 3.3 * GB,
  computeBytes: GB,
  layers: 32,
};

/** Cards as sensors add them up, and what becomes of the model there. */
const MACHINES: readonly {
  readonly what: string;
  readonly total: number | null;
  readonly free: number | null;
  readonly layersOnCard: number;
  readonly cardGb: number;
  readonly ramGb: number;
}[] = [
  {
    what: "one NVIDIA card, empty",
    total: 24,
    free: 24,
    layersOnCard: 33,
    cardGb: 17.5,
    ramGb: 1,
  },
  {
    what: "one NVIDIA card that is nearly full",
    total: 24,
    free: 2,
    layersOnCard: 0,
    cardGb: 0,
    ramGb: 17.5,
  },
  {
    what: "one NVIDIA card, half of it held by others",
    total: 24,
    free: 12,
    layersOnCard: 18,
    cardGb: 10,
    ramGb: 8.5,
  },
  {
    what: "two cards of 12 and 8, together",
    total: 20,
    free: 20,
    layersOnCard: 33,
    cardGb: 17.5,
    ramGb: 1,
  },
  {
    what:
      "a processor with a GPU part that shares the machine's memory, and Apple's chips",
    total: 0,
    free: 0,
    layersOnCard: 0,
    cardGb: 0,
    ramGb: 17.5,
  },
  {
    what: "a card of which nobody tells how full it is",
    total: 24,
    free: null,
    layersOnCard: 0,
    cardGb: 0,
    ramGb: 17.5,
  },
  {
    what: "no card, or none that is known",
    total: null,
    free: null,
    layersOnCard: 0,
    cardGb: 0,
    ramGb: 17.5,
  },
];

for (const { cardGb, free, layersOnCard, ramGb, total, what } of MACHINES) {
  Deno.test(`splitMemory divides a model on a machine with ${what}`, () => {
    const gb = (value: number | null) => value === null ? null : value * GB;
    const split = splitMemory(NEED, roomOnCards(gb(total), gb(free)));
    assert.deepEqual({
      layersOnCard: split.layersOnCard,
      cardGb: Math.round(split.cardBytes / GB * 10) / 10,
      ramGb: Math.round(split.ramBytes / GB * 10) / 10,
    }, { layersOnCard, cardGb, ramGb });
  });
}

Deno.test("splitMemory puts all of a model whose layers are not known on cards, or none", () => {
  const { layers: _, ...need } = NEED;
  assert.equal(splitMemory(need, 16 * GB).layersOnCard, 0);
  assert.equal(splitMemory(need, 17.6 * GB).layersOnCard, 1);
  assert.equal(splitMemory(need, 17.6 * GB).ramBytes, GB);
});

Deno.test("splitMemory loses nothing, puts no more on cards than there is room, and needs no more of the machine for more room", () => {
  const bytes = fc.integer({ min: 0, max: 1e12 });
  fc.assert(fc.property(
    fc.record({
      weightsBytes: bytes,
      cacheBytes: bytes,
      computeBytes: bytes,
      layers: fc.nat(200),
    }, { noNullPrototype: true }),
    bytes,
    bytes,
    (need, room, more) => {
      const split = splitMemory(need, room);
      assert.ok(split.cardBytes <= room * (1 + 1e-9));
      const moved = split.layersOnCard === 0
        ? 0
        : split.cardBytes - need.computeBytes;
      assert.ok(Math.abs(split.ramBytes + moved - neededMemory(need)) < 1e-2);
      assert.ok(
        splitMemory(need, room + more).ramBytes <= split.ramBytes + 1e-2,
      );
    },
  ));
});

Deno.test("fitsInto asks of the machine only what does not lie on cards", () => {
  const cards = roomOnCards(24 * GB, 24 * GB);
  assert.equal(fitsInto(NEED, { ramBytes: 2 * GB, cardBytes: cards }), true);
  assert.equal(fitsInto(NEED, { ramBytes: 2 * GB, cardBytes: 0 }), false);
});
