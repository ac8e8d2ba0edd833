/**
 * Holds the placement, which weighs in columns and makes few objects, against
 * the rules written down plainly: every candidate estimated by itself, sorted,
 * and the first one picked.
 *
 * @module
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  ageLoadState,
  ageQueue,
  type LoadState,
  type Offer,
  OfferTable,
  StatedView,
} from "../../src/domain/mod.ts";
import type { EngineSnapshot } from "../../src/router/candidate.ts";
import { type Estimate, estimate } from "../../src/router/estimate.ts";
import {
  evictionMs,
  usurperOf,
  WarmCopies,
} from "../../src/router/eviction.ts";
import { unfitness } from "../../src/router/fitness.ts";
import { parseModelName } from "../../src/router/model_name.ts";
import { place, type PlaceInput } from "../../src/router/place.ts";
import { keepInputs, placeInputOf } from "../../src/router/placement_inputs.ts";
import { seededChoice } from "../../src/router/seeded_choice.ts";
import { nodeIdOf, offerOf } from "../fakes/scripted_engine.ts";

const SELF = nodeIdOf(1);
const STATED_FORM = true;

/** Few values, so that ties and boundaries are common. */
const ms = fc.constantFrom(0, 1, 50, 1000, 1040, 1050, 1060, 2500);
const state: fc.Arbitrary<LoadState> = fc.constantFrom(
  { kind: "warm", loadTimeMs: null },
  { kind: "warm", loadTimeMs: null },
  { kind: "cold" },
  { kind: "loading", remainingMs: 900 },
  { kind: "failed", reason: "no memory", retryInMs: 500 },
);
const offer = fc.record({
  model: fc.constantFrom("m", "m:latest", "n", "o"),
  root: fc.constantFrom(null, null, "r1", "r2"),
  state,
  capable: fc.integer({ min: 0, max: 9 }),
  contextLength: fc.constantFrom(4096, 100, 60),
  slots: fc.integer({ min: 0, max: 3 }),
  runningMs: fc.array(ms, { maxLength: 3 }),
  waitingMs: fc.array(ms, { maxLength: 3 }),
  tpotMs: fc.array(fc.constantFrom(10, 10.4, 10.5, 10.6, 20), {
    minLength: 1,
    maxLength: 3,
  }),
  observations: fc.constantFrom(0, 5),
  typicalError: fc.constantFrom(0, 0.2),
  evicts: fc.constantFrom<readonly string[]>([], ["n"], ["m", "o"]),
}).map((one): Offer => ({
  ...offerOf({
    model: one.model,
    root: one.root,
    state: one.state,
    contextLength: one.contextLength,
    capabilities: one.capable > 0 ? ["chat"] : ["embedding"],
    queue: {
      slots: one.slots,
      runningMs: one.runningMs,
      waitingMs: one.waitingMs,
    },
    rates: {
      ...offerOf().rates,
      tpotMs: one.tpotMs,
      loadTimeMs: 3000,
      observations: one.observations,
      typicalError: one.typicalError,
    },
  }),
  evicts: one.evicts.map((model) => ({
    model,
    reloadMs: 700,
    idleMs: 0,
    reuseChance: 0.5,
  })),
}));
const engines = fc.array(
  fc.record({
    node: fc.integer({ min: 1, max: 9 }),
    offers: fc.uniqueArray(offer, {
      maxLength: 3,
      selector: ({ model }) => model,
    }),
    isHealthy: fc.integer({ min: 0, max: 9 }),
    ageMs: fc.constantFrom(0, 30, 1045),
    queue: fc.constantFrom(null, {
      slots: 1,
      runningMs: [1060, 20],
      waitingMs: [50],
    }),
    unseenMs: fc.array(ms, { maxLength: 2 }),
    unseenModel: fc.constantFrom(null, "m", "n"),
    correction: fc.constantFrom(1, 1, 1.04, 0.7),
    cached: fc.constantFrom(0, 0, 40),
    isBarred: fc.integer({ min: 0, max: 9 }),
    doubt: fc.constantFrom(null, null, { errors: 1, lostMs: 30 }),
    jitterMs: fc.constantFrom(0, 3, 60),
  }),
  { maxLength: 50 },
);

type Drawn = typeof engines extends fc.Arbitrary<readonly (infer One)[]> ? One
  : never;

/** The same engine as a peer states it, or with everything brought up to date beforehand. */
function snapshotOf(one: Drawn, at: number, isStated: boolean): EngineSnapshot {
  const { ageMs, node, offers, queue } = one;
  const availability = one.isHealthy > 1
    ? { kind: "available" } as const
    : one.isHealthy === 1
    ? { kind: "degraded", reason: "busy" } as const
    : { kind: "unavailable", reason: "away" } as const;
  const hop = { medianMs: node === 1 ? 0 : 2, jitterMs: one.jitterMs };
  return {
    key: `${at}`,
    node: nodeIdOf(node),
    nodeName: `node-${node}`,
    engine: `e${at}`,
    view: isStated
      ? new StatedView({
        availability,
        hop,
        list: offers,
        table: new OfferTable(offers),
        stateAgeMs: ageMs,
        queue,
        queueAgeMs: ageMs,
        dispatchesSeen: 0,
      })
      : {
        availability,
        hop,
        offers: offers.map((each) => ({
          ...each,
          state: ageLoadState(each.state, ageMs),
          queue: ageQueue(queue ?? each.queue, ageMs),
        })),
        dispatchesSeen: 0,
      },
    unseenMs: () => one.unseenMs,
    unseenModel: () => one.unseenMs.length === 0 ? null : one.unseenModel,
    correction: () => one.correction,
    cachedTokens: () => one.cached,
    bar: one.isBarred > 0 ? null : { kind: "cooling_down", retryInMs: 700 },
    doubt: one.doubt,
  };
}

const inputs = fc.record({
  drawn: engines,
  source: fc.constantFrom(
    { kind: "unsaid" } as const,
    { kind: "unsaid" } as const,
    { kind: "cluster" } as const,
    { kind: "local" } as const,
    { kind: "node", node: "node-3" } as const,
  ),
  policy: fc.constantFrom("balanced" as const, "local_first" as const),
  seed: fc.nat(),
  wish: fc.constantFrom(
    {},
    {},
    { contextLength: 90 },
    { contextLength: 5000 },
    { loadsOnly: true },
  ),
  sets: fc.constantFrom([], [{ name: "m", tiers: [["m"], ["n", "o"]] }]),
});

function inputOf(
  one: typeof inputs extends fc.Arbitrary<infer One> ? One : never,
  isStated: boolean,
): PlaceInput {
  return {
    demand: {
      model: parseModelName("m", one.sets),
      capability: "chat",
      source: one.source,
      promptTokens: 80,
      inputCount: 1,
      needs: [],
      expected: { meanTokens: 120, medianTokens: 100, p80Tokens: 150 },
      ...one.wish,
    },
    engines: one.drawn.map((each, at) => snapshotOf(each, at, isStated)),
    self: SELF,
    policy: one.policy,
    seed: one.seed,
  };
}

interface Plain {
  readonly engine: EngineSnapshot;
  readonly offer: Offer;
  readonly tier: number;
  readonly estimate: Estimate;
}

/** Every candidate by itself, of engines that have their offers as they are now. */
function plainly(input: PlaceInput): readonly Plain[] {
  const { demand, engines, self } = input;
  const tiers = demand.model.tiers ?? [["m", "m:latest"]];
  const tierOf = (model: string) => {
    if (model === "m" || model === "m:latest") return 0;
    const at = tiers.findIndex((names) => names.includes(model));
    return at < 0 ? null : at;
  };
  const roots = new Map<string, number>();
  for (const { view } of engines) {
    for (const { model, root } of view.offers) {
      const tier = tierOf(model);
      if (tier === null || root === null) continue;
      roots.set(root, Math.min(tier, roots.get(root) ?? tier));
    }
  }
  const copies = new WarmCopies(engines);
  const all: (Plain & { readonly unfit: string | null })[] = [];
  for (const engine of engines) {
    const mine = engine.view.offers.flatMap((offer) => {
      const named = tierOf(offer.model);
      const tier = named ?? roots.get(offer.root ?? "");
      if (tier === undefined) return [];
      const rank = (offer.capabilities.includes("chat") ? 4 : 0) +
        (offer.model === "m" ? 2 : 0) + (named === null ? 0 : 1);
      return [{ offer, tier, rank, isNamed: named !== null }];
    }).toSorted((a, b) =>
      Number(b.isNamed) - Number(a.isNamed) ||
      (a.isNamed ? 0 : (a.offer.root ?? "") < (b.offer.root ?? "") ? -1 : 1)
    );
    const kept = mine.filter((one) =>
      !mine.some((other) =>
        other.tier === one.tier &&
        (other.rank > one.rank ||
          other.rank === one.rank && mine.indexOf(other) < mine.indexOf(one))
      )
    );
    for (const { offer, tier } of kept) {
      const unseenModel = engine.unseenModel?.(offer.device) ?? null;
      const usurper = usurperOf(offer, engine, unseenModel);
      const { medianTokens, p80Tokens = medianTokens } = demand.expected;
      const found = estimate({
        work: {
          capability: "chat",
          promptTokens: demand.promptTokens,
          outputTokens: medianTokens,
          p80OutputTokens: p80Tokens,
          cachedTokens: engine.cachedTokens?.(offer.model) ?? 0,
        },
        // Pushed out by then, and loaded again.
        offer: usurper === null ? offer : { ...offer, loadedAfterQueue: false },
        availability: engine.view.availability,
        hop: engine.view.hop,
        unseenMs: engine.unseenMs(offer.device),
        unseenModel,
        evictionMs: evictionMs(offer, engine, copies, usurper),
        correction: engine.correction?.(offer.model) ?? 1,
      });
      const doubt = engine.doubt ?? null;
      all.push({
        engine,
        offer,
        tier,
        estimate: doubt === null ? found : {
          ...found,
          placementMs: found.placementMs * (1 + doubt.errors) + doubt.lostMs,
        },
        unfit: unfitness(demand, engine, offer, self)?.kind ?? null,
      });
    }
  }
  const fit = all.filter(({ unfit }) => unfit === null);
  if (fit.length > 0) return fit;
  const tight = all.filter(({ unfit }) => unfit === "context");
  const room = Math.max(0, ...tight.map((one) => one.offer.contextLength));
  return demand.promptTokens > 2 * room
    ? []
    : tight.filter((one) => one.offer.contextLength === room);
}

/** The rules of design.md 6 word by word, on a list of candidates of one set. */
function firstOf(all: readonly Plain[], input: PlaceInput): Plain | undefined {
  const msOf = (one: Plain) => one.estimate.placementMs;
  const isHere = (one: Plain) => one.engine.node === SELF;
  const cachedOf = ({ engine, offer }: Plain) =>
    offer.state.kind === "warm" ? engine.cachedTokens?.(offer.model) ?? 0 : 0;
  const sorted = all.toSorted((a, b) => msOf(a) - msOf(b));
  const soonest = (some: readonly Plain[]) => {
    const [best] = some;
    if (best === undefined) return undefined;
    const near = some.filter((one) => msOf(one) <= msOf(best) * 1.05);
    const most = Math.max(...near.map(cachedOf));
    const equals = near.filter((one) => cachedOf(one) === most);
    return equals.find(isHere) ??
      equals[seededChoice(input.seed, equals.length)];
  };
  const local = soonest(sorted.filter(isHere));
  const others = sorted.filter((one) => !isHere(one));
  const [other] = others;
  let leader = soonest(sorted);
  const isFree = input.demand.source.kind === "unsaid";
  if (isFree && local !== undefined && other !== undefined) {
    const margin = input.policy === "balanced" ? 0 : Math.max(
      50,
      local.estimate.errorMs,
      other.estimate.errorMs,
    );
    const leaves = msOf(other) * 1.05 + other.engine.view.hop.jitterMs +
        margin < msOf(local);
    leader = leaves ? soonest(others) : local;
  }
  if (leader === undefined || leader.offer.rates.observations === 0) {
    return leader;
  }
  const within = msOf(leader) * 1.25;
  return sorted.find((one) =>
    one.offer.rates.observations === 0 && one.offer.rates.typicalError > 0 &&
    one.offer.state.kind === "warm" && one.estimate.terms.queueMs === 0 &&
    msOf(one) <= within
  ) ?? leader;
}

Deno.test("place chooses what the rules choose when every candidate is estimated by itself", () => {
  fc.assert(
    fc.property(inputs, (one) => {
      const plain = inputOf(one, !STATED_FORM);
      const all = plainly(plain);
      const tier = Math.min(...all.map((each) => each.tier));
      const first = firstOf(all.filter((each) => each.tier === tier), plain);
      for (const form of [STATED_FORM, !STATED_FORM]) {
        const input = inputOf(one, form);
        const found = place(input);
        assert.deepEqual(place(plain).candidates, found.candidates);
        if (first === undefined) {
          assert(found.kind === "nowhere");
          const same = place(plain);
          assert(same.kind === "nowhere");
          assert.equal(found.fault.message, same.fault.message);
          assert.equal(found.fault.retryAfterMs, same.fault.retryAfterMs);
          continue;
        }
        assert(found.kind === "placed");
        assert.equal(found.first.engine.key, first.engine.key);
        assert.deepEqual(found.first.offer, first.offer);
        assert.deepEqual(found.first.estimate, first.estimate);
        assert.equal(found.order[0], found.first);
        assert.deepEqual(
          new Set(found.order.map(keyOf)),
          new Set(all.map(keyOf)),
        );
        const [, ...rest] = found.order.filter((each) => each.tier === tier)
          .map((each) => each.estimate.placementMs);
        assert.deepEqual(rest, rest.toSorted((a, b) => a - b));
        for (const each of found.order) {
          const same = all.find((other) => keyOf(other) === keyOf(each));
          assert.deepEqual(each.estimate, same?.estimate);
          assert.equal(found.find(each.engine.key)?.engine, each.engine);
        }
        assert.deepEqual(
          new Set(found.atOnce()),
          new Set(
            found.order.filter((each) => each.estimate.terms.queueMs === 0),
          ),
        );
      }
    }),
    { numRuns: Number(Deno.env.get("COVEY_PROPERTY_RUNS") ?? 300) },
  );
});

function keyOf({ engine, offer }: Pick<Plain, "engine" | "offer">): string {
  return `${engine.key} ${offer.model}`;
}

Deno.test("place records 32 candidates at most, the best ones, and how many more there were", () => {
  fc.assert(
    fc.property(inputs, (one) => {
      const found = place(inputOf(one, STATED_FORM));
      const { candidates, unlisted } = found;
      assert(candidates.length <= 32);
      assert(unlisted === 0 || candidates.length === 32);
      if (found.kind !== "placed" || unlisted === 0) return;
      const best = found.order.slice(0, 32).map(({ engine, offer }) =>
        `${engine.engine} ${offer.model}`
      );
      const listed = candidates.map(({ engine, model }) =>
        `${engine} ${model}`
      );
      assert.deepEqual(listed.slice(0, best.length), best);
    }),
    { numRuns: 100 },
  );
});

Deno.test("placeInputOf gives the same choice from what keepInputs kept", () => {
  fc.assert(
    fc.property(inputs, (one) => {
      const input = inputOf(one, STATED_FORM);
      const kept = keepInputs(input);
      if (kept === null) return;
      const { demand, policy, seed } = input;
      const { source } = demand;
      const again = placeInputOf(JSON.parse(JSON.stringify({
        inputs: kept,
        policy,
        seed,
        promptTokens: demand.promptTokens,
        source: source.kind === "node" ? `node:${source.node}` : source.kind,
      })));
      assert(again !== null);
      const found = place(input);
      const repeated = place(again);
      assert.equal(repeated.kind, found.kind);
      if (found.kind !== "placed" || repeated.kind !== "placed") return;
      assert.equal(repeated.first.engine.key, found.first.engine.key);
      assert.deepEqual(repeated.first.estimate, found.first.estimate);
      assert.deepEqual(repeated.candidates, found.candidates);
    }),
    { numRuns: 200 },
  );
});
