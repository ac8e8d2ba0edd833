import assert from "node:assert/strict";
import {
  Fault,
  type ModelCare,
  type ModelInventory,
  type ModelPulls,
  type PullView,
} from "../../../src/domain/mod.ts";
import { apiUnderTest, LAN, LOOPBACK, operatorOf } from "../api_under_test.ts";

const VIEW: PullView = {
  id: "0123",
  source: "org/repo",
  stage: "asking",
  doneBytes: 0,
  totalBytes: null,
  bytesPerSecond: null,
  remainingMs: null,
  from: [],
};

function underTest() {
  const asked: string[] = [];
  const pulls: ModelPulls = {
    pull({ source }, tell) {
      asked.push(source);
      if (source === "no/where") {
        return Promise.reject(new Fault("not_found", "Not there"));
      }
      tell(VIEW);
      tell({ ...VIEW, stage: "downloading", doneBytes: 1, totalBytes: 2 });
      tell({ ...VIEW, stage: "verifying" });
      tell({ ...VIEW, stage: "publishing" });
      return Promise.resolve({
        model: "m",
        sizeBytes: 2,
        verified: true,
        from: [],
      });
    },
    list: () => [],
    cancel: () => Promise.resolve(false),
    pause: () => Promise.resolve(false),
    unpause: () => Promise.resolve(false),
  };
  const models: ModelInventory & ModelCare = {
    list: () => [],
    invalid: () => [],
    verify: () => Promise.resolve({ kind: "sound" }),
    remove(model) {
      asked.push(`rm ${model}`);
      return Promise.resolve();
    },
    alias(model, name) {
      asked.push(`cp ${model} ${name}`);
      return Promise.resolve();
    },
  };
  const { api } = apiUnderTest({ models, pulls });
  return { asked, send: operatorOf(api) };
}

Deno.test("Ollama's pull streams Ollama's lines, or says success in one", async () => {
  const { asked, send } = underTest();
  const streamed = await send("POST", "/api/pull", { model: "hf.co/org/repo" });
  const lines = (await streamed.text()).trimEnd().split("\n");
  assert.deepEqual(lines.map((line) => JSON.parse(line)), [
    { status: "pulling manifest" },
    { status: "pulling 0123", digest: "0123", total: 2, completed: 1 },
    { status: "verifying sha256 digest" },
    { status: "writing manifest" },
    { status: "success" },
  ]);
  const whole = await send("POST", "/api/pull", { name: "a/b", stream: false });
  assert.deepEqual(await whole.json(), { status: "success" });
  const failed = await send("POST", "/api/pull", {
    model: "no/where",
    stream: false,
  });
  assert.deepEqual([failed.status, await failed.json()], [404, {
    error: "Not there",
  }]);
  assert.deepEqual(asked, ["hf.co/org/repo", "a/b", "no/where"]);
});

Deno.test("Ollama's delete removes, and neither route is for who may not", async () => {
  const { asked, send } = underTest();
  const done = await send("DELETE", "/api/delete", { model: "m" });
  assert.deepEqual([done.status, await done.text()], [200, ""]);
  for (
    const [method, path, body, from, status] of [
      ["DELETE", "/api/delete", {}, LOOPBACK, 400],
      ["DELETE", "/api/delete", { model: "m" }, LAN, 401],
      ["POST", "/api/pull", { model: "a/b" }, LAN, 401],
    ] as const
  ) {
    const refused = await send(method, path, body, from);
    assert.equal(refused.status, status);
    await refused.body?.cancel();
  }
  assert.deepEqual(asked, ["rm m"]);
});

Deno.test("Ollama's copy gives a model a second name, :latest or not", async () => {
  const { asked, send } = underTest();
  const copied = await send("POST", "/api/copy", {
    source: "m:latest",
    destination: "mine:latest",
  });
  assert.deepEqual([copied.status, await copied.text()], [200, ""]);
  assert.deepEqual(asked, ["cp m mine"]);
  for (
    const [body, from, status] of [
      [{ source: "m" }, LOOPBACK, 400],
      [{ destination: "m" }, LOOPBACK, 400],
      [{ source: "m", destination: 7 }, LOOPBACK, 400],
      [{ source: "m", destination: "n" }, LAN, 401],
    ] as const
  ) {
    const refused = await send("POST", "/api/copy", body, from);
    assert.equal(refused.status, status);
    await refused.body?.cancel();
  }
  assert.equal(asked.length, 1);
});
