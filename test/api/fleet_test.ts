import assert from "node:assert/strict";
import type { MemberView, NodeStanding } from "../../src/domain/mod.ts";
import { degradationOf } from "../../src/api/fleet/degradation.ts";
import { apiUnderTest, LAN, LOOPBACK, PEER, SELF } from "./api_under_test.ts";

const MEMBERS: readonly MemberView[] = [
  {
    id: SELF,
    name: "desk",
    self: true,
    health: "healthy",
    draining: false,
    addresses: [],
    version: "1",
    conditions: { ok: false, reasons: ["has 3 % of its disk left"] },
  },
  {
    id: PEER,
    name: "Attic",
    self: false,
    health: "degraded",
    draining: false,
    addresses: [],
    version: "1",
    heardMsAgo: 1500,
  },
];

function standing(part: Partial<NodeStanding>): NodeStanding {
  return {
    node: SELF,
    nodeName: "desk",
    breaker: "closed",
    engines: [],
    inFlight: 0,
    ...part,
  };
}

const CLOSED = {
  engine: "a",
  breaker: "closed",
  restsForMs: 0,
  availability: { kind: "available" },
} as const;

function setUp() {
  const under = apiUnderTest({ members: () => MEMBERS });
  under.router.standings = [
    standing({ engines: [CLOSED], inFlight: 2 }),
    standing({
      node: PEER,
      engines: [CLOSED, { ...CLOSED, engine: "b", breaker: "open" }],
    }),
  ];
  const call = async (
    path: string,
    init: RequestInit = {},
    info = LOOPBACK,
  ) => {
    const response = await under.api.handle(
      new Request(`http://127.0.0.1:11411${path}`, init),
      info,
    );
    return { status: response.status, json: await response.json() };
  };
  return { ...under, call };
}

const JSON_POST = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: "{}",
};

Deno.test("GET /fleet/health shows every worker with its health, breaker and work", async () => {
  const { call, clock } = setUp();
  const { status, json } = await call("/fleet/health");
  assert.equal(status, 200);
  assert.deepEqual([json.available, json.total], [1, 2]);
  const [desk, attic] = json.workers;
  assert.deepEqual(desk, {
    id: SELF,
    name: "desk",
    state: "HEALTHY",
    breaker: "closed",
    tier: null,
    draining: false,
    inFlight: 2,
    lastCheckAt: new Date(clock.now()).toISOString(),
    checks: {
      conditions: { ok: false, reasons: ["has 3 % of its disk left"] },
      link: { breaker: "closed" },
      engines: [{
        id: "a",
        state: "available",
        reason: null,
        breaker: "closed",
        restsForMs: 0,
      }],
    },
  });
  assert.equal(attic.state, "DEGRADED");
  assert.equal(attic.breaker, "open", "the worst of its engines'");
  assert.equal(attic.checks.link.breaker, "closed");
  assert.equal(
    attic.lastCheckAt,
    new Date(clock.now() - 1500).toISOString(),
  );
  const fleet = await call("/fleet/status");
  assert.deepEqual(fleet.json, {
    available: 1,
    total: 2,
    degradation: "one_left",
    draining: 0,
    inFlight: 2,
  });
});

Deno.test("workers are found by id and by name, and this node can be drained", async () => {
  const { call, router } = setUp();
  for (const name of [SELF, "desk", "DESK"]) {
    const { json } = await call(`/fleet/workers/${name}/status`);
    assert.deepEqual([json.id, json.in_flight_tasks], [SELF, 2]);
  }
  assert.equal((await call("/fleet/workers/cellar/status")).status, 404);
  assert.equal(
    (await call("/fleet/workers/desk/drain", JSON_POST)).status,
    200,
  );
  assert.equal(router.draining, true);
  await call("/fleet/workers/desk/undrain", JSON_POST);
  assert.equal(router.draining, false);
  const far = await call("/fleet/workers/attic/drain", JSON_POST);
  assert.equal(far.status, 501);
  assert.match(far.json.error.message, /send this request to "Attic"/);
});

Deno.test("draining wants an operator and a body that no page can send unasked", async () => {
  const { call, router } = setUp();
  const path = "/fleet/workers/desk/drain";
  assert.equal((await call(path, JSON_POST, LAN)).status, 401);
  assert.equal((await call(path, { method: "POST" })).status, 415);
  assert.equal((await call(path)).status, 405);
  assert.equal((await call("/fleet/health", {}, LAN)).status, 401);
  assert.equal(router.draining, false);
});

Deno.test("degradationOf names the first row that fits", () => {
  const rows = [
    [0, 0, "unavailable"],
    [0, 3, "unavailable"],
    [1, 1, "full"],
    [1, 4, "one_left"],
    [4, 4, "full"],
    [3, 4, "fewer_parallel"],
    [2, 4, "smaller_pool"],
    [2, 5, "no_batch"],
  ] as const;
  for (const [available, total, row] of rows) {
    assert.equal(degradationOf({ available, total }), row);
  }
});

Deno.test("x-covey-continue decides whether an answer may go on elsewhere", async () => {
  for (
    const [header, setting, expected] of [
      [null, false, undefined],
      [null, true, true],
      ["1", false, true],
      ["0", true, undefined],
    ] as const
  ) {
    const { api, router } = apiUnderTest({ continueStreams: setting });
    await api.handle(
      new Request("http://127.0.0.1:11411/v1/chat/completions", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(header === null ? {} : { "x-covey-continue": header }),
        },
        body: JSON.stringify({
          model: "m",
          messages: [{ role: "user", content: "x" }],
        }),
      }),
      LOOPBACK,
    );
    assert.equal(router.requests[0]?.resumable, expected);
  }
});
