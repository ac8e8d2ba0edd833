import assert from "node:assert/strict";
import type { ApiOptions } from "../../src/api/mod.ts";
import {
  Fault,
  type MemberView,
  type NodeStanding,
} from "../../src/domain/mod.ts";
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
    tier: 2,
    inFlight: 3,
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

function setUp(changes: Partial<ApiOptions> = {}) {
  const under = apiUnderTest({ members: () => MEMBERS, ...changes });
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
    inFlight: 5,
    tiers: { 1: 0, 2: 1, 3: 0, unknown: 1 },
  });
  assert.deepEqual([attic.tier, attic.inFlight], [2, 3], "as it says itself");
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
});

Deno.test("workers of one name are told apart as `covey members` shows them", async () => {
  const [self, attic] = MEMBERS;
  assert.ok(self && attic);
  const { call } = setUp({ members: () => [self, { ...attic, name: "Desk" }] });
  const both = await call("/fleet/workers/desk/status");
  assert.equal(both.status, 404);
  assert.ok(both.json.error.message.includes(`${SELF}, ${attic.id}`));
  const short = attic.id.slice(0, 8);
  const one = await call(`/fleet/workers/desk~${short}/status`);
  assert.equal(one.json.id, attic.id);
});

Deno.test("workers of other machines are drained, removed and looked at through the cluster", async () => {
  const acted: unknown[] = [];
  const { call } = setUp({
    act(action, body) {
      acted.push([action, body]);
      return action === "remove"
        ? Promise.resolve({ removed: { name: "Attic" } })
        : action === "refresh"
        ? Promise.resolve({ asked: 1 })
        : body.draining === true
        ? Promise.resolve({})
        : Promise.reject(
          new Fault("link_failed", '"Attic" can not be reached'),
        );
    },
  });
  const drained = await call("/fleet/workers/attic/drain", JSON_POST);
  assert.deepEqual(
    [drained.status, drained.json.name, drained.json.in_flight_tasks],
    [200, "Attic", 3],
  );
  const away = await call(`/fleet/workers/${PEER}/undrain`, JSON_POST);
  assert.equal(away.status, 502);
  assert.match(away.json.error.message, /"Attic" can not be reached/);
  const removed = await call("/fleet/workers/attic", {
    method: "DELETE",
    headers: { "content-type": "application/json" },
    body: '{"expel":true}',
  });
  assert.deepEqual(removed.json, { removed: { name: "Attic" } });
  const fresh = await call("/fleet/workers/refresh", JSON_POST);
  assert.equal(fresh.json.workers.length, 2);
  assert.deepEqual(acted, [
    ["drain", { member: PEER, draining: true }],
    ["drain", { member: PEER, draining: false }],
    ["remove", { expel: true, member: PEER }],
    ["refresh", {}],
  ]);
  for (
    const [method, path] of [
      ["POST", "/fleet/workers/refresh"],
      ["POST", "/fleet/workers/attic/drain"],
      ["DELETE", "/fleet/workers/attic"],
    ] as const
  ) {
    const init = { ...JSON_POST, method };
    assert.equal((await call(path, init, LAN)).status, 401, path);
  }
  assert.equal((await call("/fleet/workers/refresh")).status, 405);
});

Deno.test("a node alone looks at itself, and keeps what its operator says of draining", async () => {
  const kept: boolean[] = [];
  const { call } = setUp({
    hasCluster: () => false,
    drain: (draining) => Promise.resolve(void kept.push(draining)),
  });
  assert.equal((await call("/fleet/workers/refresh", JSON_POST)).status, 200);
  await call("/fleet/workers/desk/drain", JSON_POST);
  await call("/fleet/workers/desk/undrain", JSON_POST);
  assert.deepEqual(kept, [true, false]);
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
