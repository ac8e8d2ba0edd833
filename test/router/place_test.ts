import assert from "node:assert/strict";
import type { Availability, Offer, Tier } from "../../src/domain/mod.ts";
import type {
  Bar,
  Demand,
  EngineSnapshot,
} from "../../src/router/candidate.ts";
import { parseModelName } from "../../src/router/model_name.ts";
import { place, type Placement } from "../../src/router/place.ts";
import { nodeIdOf, offerOf } from "../fakes/scripted_engine.ts";

const SELF = nodeIdOf(1);

interface Part {
  readonly node?: number;
  readonly engine?: string;
  readonly offers?: readonly Offer[];
  readonly availability?: Availability;
  readonly jitterMs?: number;
  readonly tier?: Tier;
  readonly bar?: Bar | null;
  readonly unseenMs?: readonly number[];
  readonly unseenModel?: string;
}

function engine(part: Part = {}): EngineSnapshot {
  const node = part.node ?? 1;
  const id = part.engine ?? "e";
  return {
    key: `${node}/${id}`,
    node: nodeIdOf(node),
    nodeName: `node-${node}`,
    engine: id,
    view: {
      availability: part.availability ?? { kind: "available" },
      hop: { medianMs: node === 1 ? 0 : 1, jitterMs: part.jitterMs ?? 0 },
      offers: part.offers ?? [offerOf()],
      dispatchesSeen: Infinity,
      ...(part.tier === undefined ? {} : { tier: part.tier }),
    },
    unseenMs: () => part.unseenMs ?? [],
    unseenModel: () => part.unseenModel ?? null,
    bar: part.bar ?? null,
  };
}

/** Takes `tpotMs` × 100 to answer, after `queueMs`. */
function speed(tpotMs: number, queueMs = 0, typicalError = 0): Offer {
  const { rates } = offerOf();
  return offerOf({
    rates: {
      ...rates,
      prefillTokensPerSecond: Infinity,
      tpotMs: [tpotMs],
      typicalError,
    },
    queue: { slots: 1, runningMs: queueMs > 0 ? [queueMs] : [], waitingMs: [] },
  });
}

const DEMAND: Demand = {
  model: parseModelName("m"),
  capability: "chat",
  source: { kind: "unsaid" },
  promptTokens: 10,
  inputCount: 1,
  needs: [],
  expected: { meanTokens: 100, medianTokens: 100 },
};

function placed(
  engines: readonly EngineSnapshot[],
  part: Partial<Demand> = {},
  policy: "local_first" | "balanced" = "local_first",
  seed = 1,
): Placement {
  return place({
    demand: { ...DEMAND, ...part },
    engines,
    self: SELF,
    policy,
    seed,
  });
}

function order(placement: Placement): string[] {
  return placement.kind === "placed"
    ? placement.order.map((one) => one.engine.key)
    : [];
}

function codeOf(placement: Placement): string {
  return placement.kind === "nowhere" ? placement.fault.code : "placed";
}

Deno.test("place leaves this node only for more than its policy's margin", () => {
  // Local takes 2,000 ms; the other's time, its jitter and typical error vary.
  const table = [
    [15, 0, 0, "2/e", "2/e"],
    [18.8, 0, 0, "1/e", "2/e"], // 1,881 × 1.05 < 2,000, but not by 50 ms
    [19.5, 0, 0, "1/e", "1/e"],
    [18.5, 60, 0, "1/e", "1/e"], // jitter
    [15, 0, 0.4, "1/e", "2/e"], // an error of 600 ms
  ] as const;
  for (const [tpotMs, jitterMs, error, localFirst, balanced] of table) {
    const engines = [
      engine({ offers: [speed(20)] }),
      engine({ node: 2, jitterMs, offers: [speed(tpotMs, 0, error)] }),
    ];
    const said = `${tpotMs} ${jitterMs} ${error}`;
    assert.equal(order(placed(engines))[0], localFirst, said);
    assert.equal(order(placed(engines, {}, "balanced"))[0], balanced, said);
  }
});

Deno.test("place weighs a second in the queue as one and a half", () => {
  const engines = [
    engine({ offers: [speed(10, 1000)] }),
    engine({ node: 2, offers: [speed(21)] }),
  ];
  // 1,000 × 1.5 + 1,000 against 2,101 × 1.05.
  assert.equal(order(placed(engines))[0], "2/e");
});

Deno.test("place counts own dispatches that a peer has not reported", () => {
  const engines = [
    engine({ offers: [speed(10, 500)] }),
    engine({ node: 2, offers: [speed(10)], unseenMs: [1000] }),
  ];
  assert.equal(order(placed(engines))[0], "1/e");
});

Deno.test("place loads again what an own dispatch of another model, not reported yet, pushes out", () => {
  const other = {
    ...speed(10),
    model: "other",
    state: { kind: "cold" },
    evicts: [{ model: "m", reloadMs: 4000, idleMs: 0 }],
    rates: { ...speed(10).rates, loadTimeMs: 3000 },
  } as const;
  const mine = {
    ...speed(10),
    rates: { ...speed(10).rates, loadTimeMs: 4000 },
  };
  const estimateWith = (unseenModel: string | undefined) => {
    const found = placed([
      engine({
        offers: [mine, other],
        ...(unseenModel === undefined ? {} : { unseenMs: [3500], unseenModel }),
      }),
    ]);
    assert(found.kind === "placed");
    return found.first.estimate;
  };
  assert.equal(estimateWith(undefined).estimateMs, 1000);
  const { terms, estimateMs } = estimateWith("other");
  assert.equal(terms.queueMs, 3500);
  assert.equal(terms.loadMs, 4000);
  // The other model's reload, twice, because nobody else has it.
  assert.equal(terms.evictionMs, 6000);
  assert.equal(estimateMs, 3500 + 4000 + 1000);
  assert.equal(estimateWith("m").terms.loadMs, 0);
  assert.equal(estimateWith("third").terms.loadMs, 0);
});

Deno.test("place breaks ties for this node, else by the seed, the same for the same", () => {
  const three = [2, 3, 4].map((node) => engine({ node, offers: [speed(10)] }));
  const source = { kind: "cluster" } as const;
  const self = engine({ offers: [speed(10.4)] });
  assert.equal(order(placed([...three, self], { source }))[0], "1/e");
  const drawn = new Set<string>();
  for (let seed = 0; seed < 40; seed++) {
    const first = order(placed(three, { source }, "balanced", seed))[0];
    assert.equal(order(placed(three, { source }, "balanced", seed))[0], first);
    drawn.add(first ?? "");
  }
  assert.equal(drawn.size, 3);
});

Deno.test("place gives a long prompt to the strongest of equals, and no more than that", () => {
  const engines = [
    engine({ tier: 3, offers: [speed(10)] }),
    engine({ node: 2, tier: 1, offers: [speed(10.3)] }),
    engine({ node: 3, tier: 2, offers: [speed(10.2)] }),
  ];
  const free = { source: { kind: "cluster" } } as const;
  const room = engines.map((one) => ({
    ...one,
    view: {
      ...one.view,
      offers: one.view.offers.map((offer) => ({
        ...offer,
        contextLength: 65_536,
      })),
    },
  }));
  const long = { ...free, promptTokens: 8192 };
  assert.equal(order(placed(room, long))[0], "2/e");
  assert.equal(order(placed(room, free))[0], "1/e", "light work stays");
  assert.equal(order(placed(room, { ...long, inputCount: 2 }))[0], "1/e");
  const [here, , there] = room;
  assert(here !== undefined && there !== undefined);
  const slower = {
    ...there,
    view: {
      ...there.view,
      tier: 1 as const,
      offers: [{ ...speed(10.6), contextLength: 65_536 }],
    },
  };
  assert.equal(
    order(placed([here, slower], long))[0],
    "1/e",
    "sooner stays sooner",
  );
  assert.equal(
    order(placed(room, { promptTokens: 8192 }))[0],
    "1/e",
    "an unsaid source leaves this node for a gain alone",
  );
});

Deno.test("place keeps local and pinned requests where they must run", () => {
  const engines = [
    engine({ offers: [speed(100)] }),
    engine({ node: 2, offers: [speed(1)] }),
  ];
  assert.deepEqual(order(placed(engines, { source: { kind: "local" } })), [
    "1/e",
  ]);
  for (const node of [nodeIdOf(2), "NODE-2"]) {
    assert.deepEqual(
      order(placed(engines, { source: { kind: "node", node } })),
      ["2/e"],
    );
  }
  const busy = engine({
    availability: { kind: "unavailable", reason: "away" },
  });
  const nowhere = placed([busy, engine({ node: 2 })], {
    source: { kind: "local" },
  });
  assert(nowhere.kind === "nowhere");
  assert.equal(nowhere.fault.code, "no_candidate");
  assert.match(nowhere.fault.message, /away/);
});

Deno.test("place matches a bare name with name:latest and nothing else (MOD-01)", () => {
  const offers = [
    offerOf({ model: "mine:latest" }),
    offerOf({ model: "big:70b" }),
  ];
  const table = [
    ["mine", "mine:latest"],
    ["mine:latest", "mine:latest"],
    ["big:70b", "big:70b"],
    ["big", null],
    ["big:latest", null],
    ["m", null],
  ] as const;
  for (const [asked, served] of table) {
    const found = placed([engine({ offers })], {
      model: parseModelName(asked),
    });
    if (served === null) assert.equal(codeOf(found), "model_not_found", asked);
    else {
      assert(found.kind === "placed", asked);
      assert.equal(found.order[0].offer.model, served);
    }
  }
  const bare = [offerOf({ model: "mine" })];
  const tagged = placed([engine({ offers: bare })], {
    model: parseModelName("mine:latest"),
  });
  assert.equal(codeOf(tagged), "placed");
});

Deno.test("place says why nobody can serve a request", () => {
  const failed = {
    kind: "failed",
    reason: "no memory",
    retryInMs: 9000,
  } as const;
  const cooling = { kind: "cooling_down", retryInMs: 7000 } as const;
  const open = { kind: "breaker_open", retryInMs: 20_000 } as const;
  const embedding = offerOf({ capabilities: ["embedding"] });
  const table: readonly (readonly [
    string,
    readonly EngineSnapshot[],
    Partial<Demand>,
    number | null,
  ])[] = [
    ["model_not_found", [engine()], { model: parseModelName("x") }, null],
    ["model_not_found", [], {}, null],
    ["wrong_capability", [engine({ offers: [embedding] })], {}, null],
    ["wrong_capability", [engine()], { needs: ["vision"] }, null],
    ["context_length_exceeded", [engine()], { promptTokens: 20_000 }, null],
    [
      "no_candidate",
      [engine({ offers: [offerOf({ state: failed })] })],
      {},
      9000,
    ],
    ["no_candidate", [engine({ bar: open })], {}, 20_000],
    [
      "cooling_down",
      [engine({ bar: cooling }), engine({ node: 2, bar: open })],
      {},
      7000,
    ],
    ["cooling_down", [engine({ bar: cooling })], {
      source: { kind: "node", node: nodeIdOf(1) },
    }, 7000],
    [
      "no_candidate",
      [engine({ node: 2 })],
      { source: { kind: "local" } },
      null,
    ],
    ["no_candidate", [engine()], { source: { kind: "node", node: "x" } }, null],
  ];
  for (const [code, engines, demand, retryAfterMs] of table) {
    const found = placed(engines, demand);
    assert(found.kind === "nowhere", code);
    assert.equal(found.fault.code, code);
    assert.equal(found.fault.retryAfterMs, retryAfterMs, code);
  }
});

Deno.test("place lets the roomiest engine count a prompt that may be too long, and bounds each input of an embedding", () => {
  const small = engine({ offers: [offerOf({ contextLength: 4096 })] });
  const large = engine({ node: 2 });
  const demand = { promptTokens: 10_000 };
  assert.deepEqual(order(placed([small, large], demand)), ["2/e"]);
  assert.deepEqual(
    order(placed([small, large], { ...demand, source: { kind: "local" } })),
    [],
  );
  assert.deepEqual(order(placed([small, large], { promptTokens: 6000 })), [
    "2/e",
  ]);
  const embedding = engine({
    offers: [offerOf({ capabilities: ["embedding"] })],
  });
  const found = placed([embedding], {
    capability: "embedding",
    promptTokens: 50_000,
    inputCount: 32,
  });
  assert.equal(codeOf(found), "placed");
});

Deno.test("place records every candidate with its terms and the reason", () => {
  const found = placed([
    engine({ offers: [speed(20)] }),
    engine({ node: 2, offers: [speed(19.5)] }),
    engine({ node: 3, bar: { kind: "cooling_down", retryInMs: 2500 } }),
    engine({ node: 4, offers: [offerOf({ model: "other" })] }),
  ]);
  assert.equal(found.candidates.length, 3);
  const [local, other, cooling] = found.candidates;
  assert.equal(local?.reason, "chosen, on this node");
  assert.equal(local?.estimateMs, 2000);
  assert.match(other?.reason ?? "", /not sooner by enough/);
  assert.equal(cooling?.eligible, false);
  assert.match(cooling?.reason ?? "", /3 s/);
});

Deno.test("place tries an idle engine of unseen speed where its prior is within 1.25 of the best, once that is known", () => {
  const known = (tpotMs: number, observations: number, typicalError = 0.5) =>
    offerOf({
      rates: {
        ...offerOf().rates,
        tpotMs: [tpotMs],
        observations,
        typicalError,
      },
    });
  const chosen = (mine: number, prior: number, error?: number) => {
    return order(placed([
      engine({ node: 1, offers: [known(10, mine)] }),
      engine({ node: 2, offers: [known(prior, 0, error)] }),
    ]))[0];
  };
  assert.equal(chosen(5, 12), "2/e");
  assert.equal(chosen(5, 13), "1/e");
  assert.equal(chosen(0, 12), "1/e");
  assert.equal(chosen(5, 12, 0), "1/e");
});
