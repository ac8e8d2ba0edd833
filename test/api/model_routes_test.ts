import assert from "node:assert/strict";
import {
  Fault,
  type LocalModel,
  type ModelCare,
  type ModelCheck,
  type ModelInventory,
} from "../../src/domain/mod.ts";
import { apiUnderTest, LAN, operatorOf } from "./api_under_test.ts";

function shelf(checks: Readonly<Record<string, ModelCheck>>) {
  const removed: string[] = [];
  const models: ModelInventory & ModelCare = {
    list: () =>
      Object.keys(checks).map((name): LocalModel => ({
        name,
        path: "/m",
        sizeBytes: 100,
        architecture: "llama",
        contextLength: 1,
        capabilities: [],
        features: [],
        root: null,
      })),
    invalid: () => [],
    verify(model, tell) {
      tell(0);
      const check = checks[model];
      return check === undefined
        ? Promise.reject(new Fault("model_not_found", `No "${model}"`))
        : Promise.resolve(check);
    },
    remove(model) {
      removed.push(model);
      return Promise.resolve();
    },
    alias: () => Promise.reject(new Error("Nobody asks for that here")),
  };
  return { models, removed };
}

async function linesOf(response: Response): Promise<unknown[]> {
  const text = await response.text();
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("verification tells its progress and then each model's outcome", async () => {
  const files = [{ name: "b.gguf", problem: "1 of 1 chunks differ" }];
  const { models } = shelf({
    a: { kind: "sound" },
    b: { kind: "damaged", files },
  });
  const send = operatorOf(apiUnderTest({ models }).api);
  const verify = (body: unknown) => send("POST", "/covey/models/verify", body);
  const progress = { status: "verifying", doneBytes: 0, totalBytes: 100 };
  const a = { model: "a", sound: true, files: [] };
  const b = { model: "b", sound: false, files };
  assert.deepEqual(await linesOf(await verify({})), [
    { ...progress, model: "a" },
    { ...progress, model: "b" },
    { status: "verified", sound: false, models: [a, b], invalid: [] },
  ]);
  assert.deepEqual((await linesOf(await verify({ model: "a" }))).at(-1), {
    status: "verified",
    sound: true,
    models: [a],
  });
  assert.deepEqual((await linesOf(await verify({ model: "c" }))).at(-1), {
    error: 'No "c"',
    code: "model_not_found",
  });
  assert.equal((await verify({ model: 7 })).status, 400);
});

Deno.test("verification of all models names partial files and what is no model, that of one does not", async () => {
  const { models } = shelf({ a: { kind: "sound" } });
  const partial = [{
    path: ".partial/x",
    of: "pull" as const,
    sizeBytes: 3,
    idleMs: 4,
  }];
  const partials = () => Promise.resolve(partial);
  const bad = [{ name: "bad", reason: "The file is no GGUF" }];
  const invalid = () => bad;
  const { api } = apiUnderTest({
    models: Object.assign(models, { invalid, partials }),
  });
  const send = operatorOf(api);
  const verify = (body: unknown) => send("POST", "/covey/models/verify", body);
  const done = {
    status: "verified",
    sound: true,
    models: [{ model: "a", sound: true, files: [] }],
  };
  const all = await linesOf(await verify({}));
  assert.deepEqual(all.at(-1), { ...done, partial, invalid: bad });
  const one = await linesOf(await verify({ model: "a" }));
  assert.deepEqual(one.at(-1), done);
});

Deno.test("a model is removed by its name, slashes and all, and by nobody from the LAN", async () => {
  const { models, removed } = shelf({});
  const send = operatorOf(apiUnderTest({ models }).api);
  const path = "/covey/models/org%2Fm";
  const done = await send("DELETE", path);
  assert.deepEqual([done.status, await done.json()], [200, {
    removed: "org/m",
  }]);
  for (
    const [method, where] of [
      ["DELETE", path],
      ["POST", "/covey/models/verify"],
    ] as const
  ) {
    const refused = await send(method, where, {}, LAN);
    assert.equal(refused.status, 401);
    await refused.body?.cancel();
  }
  assert.deepEqual(removed, ["org/m"]);
});
