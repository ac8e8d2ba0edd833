import assert from "node:assert/strict";
import type { Offer } from "../../../src/domain/mod.ts";
import { offerOf } from "../../fakes/scripted_engine.ts";
import {
  apiUnderTest,
  get,
  LOOPBACK,
  PEER,
  post,
  SELF,
} from "../api_under_test.ts";

const DIGEST = /^[0-9a-f]{64}$/;
const ROOT = "ab".repeat(32);

Deno.test("MOD-01 tags, ps and show list the models in reach under both spellings", async () => {
  const { api, router } = apiUnderTest();
  const listing = (model: string, warm: boolean, node = SELF) => ({
    model,
    capabilities: ["chat"] as const,
    contextLength: 4096,
    nodes: [node],
    warm,
    features: ["tools"] as const,
    sizeBytes: 9,
    ...(model === "m" ? { root: ROOT } : {}),
  });
  router.listings = [
    listing("m", true),
    listing("t:latest", false),
    listing("big:70b", false, PEER),
  ];
  const json = async (request: Request) =>
    await (await api.handle(request, LOOPBACK)).json();
  const names = ({ models }: { models: { name: string }[] }) =>
    models.map(({ name }) => name);
  const tags = await json(get("/api/tags"));
  assert.deepEqual(names(tags), ["m", "t:latest", "big:70b"]);
  assert.equal(tags.models[0].size, 9);
  // `ollama list` cuts twelve characters off each.
  const digests = tags.models.map(({ digest }: { digest: string }) => digest);
  assert.equal(digests[0], ROOT);
  for (const digest of digests) assert.match(digest, DIGEST);
  assert.equal(new Set(digests).size, 3);
  assert.deepEqual(names(await json(get("/node/ben/api/tags"))), ["big:70b"]);
  for (const body of [{ model: "m" }, { name: "m:latest" }, { model: "t" }]) {
    const shown = await json(post("/api/show", body));
    assert.deepEqual(shown.capabilities, ["completion", "tools"]);
    assert.equal(shown.model_info["covey.context_length"], 4096);
    assert.match(shown.model_info["general.basename"], /^[mt]/);
  }
  const lost = await api.handle(post("/api/show", { model: "big" }), LOOPBACK);
  assert.equal(lost.status, 404);
  assert.match((await lost.json()).error, /"big"/);
  const { version } = await json(get("/api/version"));
  const [major, minor, patch] = version.split(".").map(Number);
  assert(major > 0 || minor > 13 || (minor === 13 && patch >= 4), version);
});

Deno.test("tags, ps and show tell what the file of a model that lies here says of itself", async () => {
  const never = () => Promise.reject(new Error("Not expected"));
  const { api, router } = apiUnderTest({
    models: {
      list: () => [{
        name: "m",
        path: "/models/m.gguf",
        sizeBytes: 9,
        architecture: "qwen3",
        contextLength: 32_768,
        capabilities: ["chat"],
        features: [],
        root: null,
        quantisation: "Q4_K_M",
      }],
      invalid: () => [],
      verify: never,
      remove: never,
      alias: never,
    },
  });
  router.listings = ["m", "far"].map((model) => ({
    model,
    capabilities: ["chat"],
    contextLength: 4096,
    nodes: [SELF],
    warm: true,
  }));
  router.placed = [{
    node: SELF,
    nodeName: "anna",
    engine: "embedded",
    offer: offerOf({ model: "m" }),
  }];
  const json = async (request: Request) =>
    await (await api.handle(request, LOOPBACK)).json();
  const [m, far] = (await json(get("/api/tags"))).models;
  assert.equal(m.details.family, "qwen3");
  assert.deepEqual(m.details.families, ["qwen3"]);
  assert.equal(m.details.quantization_level, "Q4_K_M");
  assert.equal(far.details.family, "");
  const [running] = (await json(get("/api/ps"))).models;
  assert.deepEqual(running.details, m.details);
  const shown = await json(post("/api/show", { model: "m:latest" }));
  assert.deepEqual(shown.details, m.details);
  assert.deepEqual(shown.model_info, {
    "general.architecture": "qwen3",
    "general.basename": "m",
    "qwen3.context_length": 4096,
  });
});

Deno.test("ps says of each model in memory what it takes, how long it stays and how far its load is", async () => {
  const { api, clock, router } = apiUnderTest();
  const residency = {
    memoryBytes: 12,
    expiresInMs: 60_000,
    isPinned: false,
    isInUse: false,
  };
  const placed = (offer: Partial<Offer>, node = SELF, nodeName = "anna") => ({
    node,
    nodeName,
    engine: "embedded",
    offer: offerOf(offer),
  });
  router.placed = [
    placed({ model: "m", sizeBytes: 9, root: ROOT, residency }),
    placed({ model: "cold", state: { kind: "cold" } }),
    placed({
      model: "stays",
      residency: {
        ...residency,
        cardBytes: 7,
        expiresInMs: null,
        isPinned: true,
      },
    }),
    placed(
      {
        model: "comes",
        state: { kind: "loading", remainingMs: 1_000, progress: 0.4 },
      },
      PEER,
      "ben",
    ),
  ];
  const ps = async (path: string) => {
    const { models } = await (await api.handle(get(path), LOOPBACK)).json();
    return models;
  };
  const [m, stays, comes, ...more] = await ps("/api/ps");
  assert.deepEqual(more, []);
  assert.equal(m.size, 12);
  assert.equal(m.digest, ROOT);
  assert.match(stays.digest, DIGEST);
  assert.equal(Date.parse(m.expires_at), clock.now() + 60_000);
  assert.ok(Date.parse(stays.expires_at) > clock.now() + 3e12);
  assert.deepEqual([m.pinned, stays.pinned], [false, true]);
  assert.deepEqual([m.size_vram, stays.size_vram], [0, 7]);
  assert.equal(comes.load_progress, 0.4);
  assert.equal(comes.node, "ben");
  assert.equal((await ps("/node/ben/api/ps")).length, 1);
});
