import assert from "node:assert/strict";
import fc from "fast-check";
import { BroughtOffers, type Offer, OfferTable } from "../../src/domain/mod.ts";
import { askedOffers } from "../../src/router/asked_offers.ts";
import { parseModelName } from "../../src/router/model_name.ts";

const BASE: Omit<Offer, "model" | "root"> = {
  capabilities: ["chat"],
  features: [],
  contextLength: 4096,
  sizeBytes: null,
  state: { kind: "loading", remainingMs: 900 },
  device: "cpu",
  queue: { slots: 1, runningMs: [], waitingMs: [] },
  rates: {
    prefillTokensPerSecond: 100,
    tpotMs: [10],
    loadTimeMs: 0,
    observations: 0,
    typicalError: 0.5,
    expectedOutputTokens: 100,
  },
};

const offers = fc.array(
  fc.record({
    model: fc.constantFrom("a", "a:latest", "b", "c", "d"),
    root: fc.constantFrom(null, "r1", "r2"),
  }).map((one): Offer => ({ ...BASE, ...one })),
  { maxLength: 6 },
);

const names = fc.constantFrom(
  parseModelName("a"),
  parseModelName("a:latest"),
  parseModelName("b"),
  parseModelName("a", [{ name: "a", tiers: [["b"], ["c*"]] }]),
);

Deno.test("askedOffers finds the same with an index and without", () => {
  fc.assert(
    fc.property(names, fc.array(offers, { maxLength: 4 }), (name, lists) => {
      const found = (isIndexed: boolean) =>
        new Set(
          askedOffers(
            name,
            lists.map((list) => ({
              view: isIndexed
                ? { offers: list, index: new OfferTable(list) }
                : { offers: list },
            })),
          ).map(({ at, tier, offer }) => `${at} ${tier} ${idOf(lists, offer)}`),
        );
      assert.deepEqual(found(true), found(false));
    }),
  );
});

Deno.test("BroughtOffers brings what is asked for once, and nothing else", () => {
  const list = ["a", "b", "c"].map((model): Offer => ({
    ...BASE,
    model,
    root: "r",
  }));
  const brought: string[] = [];
  const index = new BroughtOffers(list, (offer) => {
    brought.push(offer.model);
    return { ...offer, state: { kind: "cold" } };
  }, new OfferTable(list));
  const [b] = index.named("b");
  assert.deepEqual(b?.state, { kind: "cold" });
  assert.equal(index.named("b")[0], b);
  assert.deepEqual(index.named("x"), []);
  assert.deepEqual(index.warm(), []);
  assert.deepEqual(brought, ["b"]);
  assert.equal(index.all()[1], b);
  assert.equal(index.rooted("r").length, 3);
  assert.deepEqual(brought, ["b", "a", "c"]);
});

function idOf(lists: readonly (readonly Offer[])[], offer: Offer): string {
  const list = lists.findIndex((one) => one.includes(offer));
  return `${list}.${lists[list]?.indexOf(offer)}`;
}
