import assert from "node:assert/strict";
import { fitRows, forecastRows } from "../../src/api/fit_view.ts";
import { memoryRow } from "../../src/api/memory_views.ts";
import type {
  MemberView,
  ModelForecast,
  Offer,
  PlacedOffer,
} from "../../src/domain/mod.ts";
import { Fault, UNKNOWN_MACHINE } from "../../src/domain/mod.ts";
import { offerOf } from "../fakes/scripted_engine.ts";
import { until } from "../fakes/simulated_pair.ts";
import {
  apiUnderTest,
  get,
  LAN,
  LOOPBACK,
  PEER,
  post,
  SELF,
} from "./api_under_test.ts";

const GB = 1_000_000_000;
const MEMORY = { weightsBytes: 5 * GB, cacheBytes: 2 * GB, computeBytes: GB };
const COLD = { kind: "cold" } as const;

function placed(offer: Partial<Offer>, node = SELF): PlacedOffer {
  return { node, nodeName: "anna", engine: "embedded", offer: offerOf(offer) };
}

function member(id: typeof SELF, freeGb: number, totalGb: number): MemberView {
  return {
    id,
    name: id === SELF ? "anna" : "ben",
    self: id === SELF,
    health: "healthy",
    draining: false,
    addresses: [],
    version: "1",
    machine: {
      ...UNKNOWN_MACHINE,
      memoryAvailableBytes: freeGb * GB,
      memoryTotalBytes: totalGb * GB,
    },
  };
}

Deno.test("memoryRow leaves out programs that start with each request: they are in nobody's memory", () => {
  const warm = { kind: "warm", loadTimeMs: null } as const;
  const program = placed({
    capabilities: ["speech"],
    sizeBytes: null,
    state: warm,
  });
  assert.equal(memoryRow(program), null);
  // A server's model may well be: its server says so, or computes text.
  const chat = placed({ capabilities: ["chat"], sizeBytes: null, state: warm });
  assert.equal(memoryRow(chat)?.state, "warm");
  const loading = placed({
    capabilities: ["transcription"],
    sizeBytes: null,
    state: { kind: "loading", remainingMs: 5 },
  });
  assert.equal(memoryRow(loading)?.state, "loading");
});

Deno.test("fitRows judges by what engines say, and members without the model by what it takes elsewhere", () => {
  const verdicts = (
    offer: Partial<Offer>,
    free: readonly [number, number],
    total: readonly [number, number],
  ) =>
    fitRows(
      [placed({ memory: MEMORY, state: COLD, ...offer })],
      [member(SELF, free[0], total[0]), member(PEER, free[1], total[1])],
    ).map(({ verdict }) => verdict);
  assert.deepEqual(verdicts({}, [9, 9], [16, 16]), ["fits", "fits"]);
  assert.deepEqual(verdicts({}, [7, 7], [16, 16]), [
    "fits_after_unloading",
    "no_room_now",
  ]);
  const warm = { kind: "warm", loadTimeMs: 1 } as const;
  assert.deepEqual(verdicts({ state: warm }, [1, 1], [16, 4]), [
    "loaded",
    "too_large",
  ]);
  const misfit = { reason: "needs 8.0 GB", retryInMs: null };
  assert.deepEqual(verdicts({ misfit }, [1, 9], [4, 16]), [
    "too_large",
    "fits",
  ]);
  const short = { ...misfit, retryInMs: 5_000 };
  assert.deepEqual(verdicts({ misfit: short }, [1, 9], [16, 16]), [
    "no_room_now",
    "fits",
  ]);
});

Deno.test("fitRows counts cards with memory of their own as room, of members with the model and without", () => {
  const carded = (id: typeof SELF, freeGb: number): MemberView => {
    const one = member(id, 3, 4);
    const { machine = UNKNOWN_MACHINE } = one;
    return {
      ...one,
      machine: {
        ...machine,
        cardMemoryTotalBytes: 24 * GB,
        cardMemoryFreeBytes: freeGb * GB,
      },
    };
  };
  const memory = { ...MEMORY, layers: 32 };
  const rows = (free: readonly [number, number]) =>
    fitRows(
      [placed({ memory, state: COLD })],
      [carded(SELF, free[0]), carded(PEER, free[1])],
    ).map(({ cardBytes, verdict }) => [cardBytes, verdict]);
  assert.deepEqual(rows([20, 20]), [[8 * GB, "fits"], [8 * GB, "fits"]]);
  assert.deepEqual(rows([1, 1]), [[0, "fits_after_unloading"], [
    0,
    "no_room_now",
  ]]);
  const residency = {
    memoryBytes: 8 * GB,
    cardBytes: 6 * GB,
    expiresInMs: null,
    isPinned: false,
    isInUse: false,
  };
  const [loaded] = fitRows([placed({ memory, residency })], [carded(SELF, 1)]);
  assert.deepEqual([loaded?.cardBytes, loaded?.verdict], [6 * GB, "loaded"]);
});

const FORECAST: ModelForecast = {
  model: "m-Q4_K_M",
  quantisation: "Q4_K_M",
  sizeBytes: 5 * GB,
  readBytes: 400_000,
  // A machine with little memory gets less context.
  reckon: (total) => ({
    contextLength: (total?.ramBytes ?? 0) > 8 * GB ? 32_768 : 2_048,
    slots: 2,
    memory: {
      ...MEMORY,
      cacheBytes: (total?.ramBytes ?? 0) > 8 * GB ? 2 * GB : 0,
    },
  }),
};

Deno.test("a member that is off line is not said to hold a model, nor to be without one", () => {
  const away = (freeGb: number, totalGb: number): MemberView => ({
    ...member(PEER, freeGb, totalGb),
    health: "offline",
  });
  const offers = [placed({ memory: MEMORY, state: COLD })];
  const judged = (one: MemberView) =>
    [
      fitRows(offers, [member(SELF, 12, 16), one]).at(-1),
      forecastRows(FORECAST, [one])[0],
    ].map((row) => [row?.verdict, row?.reason]);
  const unknown = ["unknown", "It is off line"];
  assert.deepEqual(judged(away(12, 16)), [unknown, unknown]);
  assert.deepEqual(judged(away(3, 4)).map(([verdict]) => verdict), [
    "too_large",
    "too_large",
  ]);
});

Deno.test("forecastRows judges each member by its own memory and disk", () => {
  const withDisk = (one: MemberView, freeGb: number): MemberView => ({
    ...one,
    machine: {
      ...one.machine ?? UNKNOWN_MACHINE,
      diskFreeBytes: freeGb * GB,
      diskTotalBytes: 100 * GB,
    },
  });
  const row = (one: MemberView) => {
    const [first] = forecastRows(FORECAST, [one]);
    return [first?.verdict, first?.contextLength, first?.neededBytes];
  };
  assert.deepEqual(row(member(SELF, 12, 16)), ["fits", 32_768, 8 * GB]);
  assert.deepEqual(row(member(PEER, 7, 8)), ["fits", 2_048, 6 * GB]);
  assert.deepEqual(row(member(PEER, 5, 8)), ["no_room_now", 2_048, 6 * GB]);
  assert.deepEqual(row(member(PEER, 3, 4)), ["too_large", 2_048, 6 * GB]);
  assert.deepEqual(row(withDisk(member(SELF, 12, 16), 20))[0], "fits");
  const [full] = forecastRows(FORECAST, [withDisk(member(SELF, 12, 16), 14)]);
  assert.equal(full?.verdict, "no_disk");
  assert.match(String(full?.reason), /14\.0 GB of disk left, and 5\.0 GB/);
  const { machine: _, ...silent } = member(PEER, 1, 1);
  assert.equal(row(silent)[0], "unknown");
  const controller = { ...member(PEER, 9, 9), role: "controller" } as const;
  assert.deepEqual(forecastRows(FORECAST, [controller]), []);
});

Deno.test("POST /covey/fit tells of a model that is nowhere yet, to operators", async () => {
  const asked: unknown[] = [];
  const { api, clock } = apiUnderTest({
    members: () => [member(SELF, 12, 16), member(PEER, 3, 4)],
    forecasts: {
      async forecast(request, signal) {
        asked.push(request);
        if (request.source === "org/silent") {
          await new Promise((_, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason))
          );
        }
        if (request.source === "org/none") {
          throw new Fault("not_found", "The hub has no such repository");
        }
        return FORECAST;
      },
    },
  });
  const ask = (body: unknown, from = LOOPBACK) =>
    api.handle(post("/covey/fit", body), from);
  const found = await (await ask({ source: "org/m", revision: "v1" })).json();
  assert.deepEqual(
    [found.model, found.sizeBytes, found.readBytes],
    ["m-Q4_K_M", 5 * GB, 400_000],
  );
  assert.deepEqual(
    found.nodes.map((one: { verdict: string }) => one.verdict),
    ["fits", "too_large"],
  );
  assert.deepEqual(asked, [{ source: "org/m", revision: "v1" }]);
  assert.equal((await ask({ source: 5 })).status, 400);
  assert.equal((await ask({ source: "org/none" })).status, 404);
  assert.ok([401, 403].includes((await ask({ source: "org/m" }, LAN)).status));
  const silent = ask({ source: "org/silent" });
  while (asked.length < 3) await new Promise((go) => setTimeout(go));
  const late = await until(clock, silent, 5_000);
  assert.equal(late.status, 502);
  assert.match(await late.text(), /gave no header within 25 s/);
});

Deno.test("the memory of members is shown, asked about and freed over the API", async () => {
  const { api, router } = apiUnderTest();
  router.placed = [
    placed({ model: "m", memory: MEMORY }),
    placed({ model: "cold", state: COLD }),
  ];
  const json = async (path: string) =>
    await (await api.handle(get(path), LOOPBACK)).json();
  const { models } = await json("/covey/memory");
  assert.deepEqual(
    models.map(({ memoryBytes, model, state }: Record<string, unknown>) => [
      model,
      state,
      memoryBytes,
    ]),
    [["m", "warm", 8 * GB]],
  );
  assert.equal((await json("/covey/fit/m")).nodes[0].verdict, "loaded");
  const lost = await api.handle(get("/covey/fit/nobody"), LOOPBACK);
  assert.equal(lost.status, 404);
  await lost.body?.cancel();

  const unload = (body: string, headers: Record<string, string>) =>
    api.handle(
      new Request("http://127.0.0.1/covey/models/org%2Fm/unload", {
        method: "POST",
        headers,
        body,
      }),
      LOOPBACK,
    );
  const asJson = { "content-type": "application/json" };
  router.outcomes = [{
    node: PEER,
    nodeName: "ben",
    engine: "embedded",
    model: "org/m",
    unloaded: true,
    reason: null,
  }];
  const done = await (await unload('{"node":"ben"}', asJson)).json();
  assert.equal(done.outcomes[0].unloaded, true);
  assert.deepEqual(router.unloads, [{
    model: "org/m",
    source: { kind: "node", node: PEER },
    evenPinned: true,
  }]);
  for (
    const [body, headers, status] of [
      ["{}", { "content-type": "text/plain" }, 415],
      ['{"node":5}', asJson, 400],
    ] as const
  ) {
    const refused = await unload(body, headers);
    assert.equal(refused.status, status);
    await refused.body?.cancel();
  }
  assert.equal(router.unloads.length, 1);
});
