import assert from "node:assert/strict";
import { encodeCoveyTinyRerank } from "../../scripts/fixtures/covey_tiny_rerank.ts";
import { createModelStore } from "../../src/models/model_store.ts";
import { ManualClock, MemoryFiles } from "../../src/platform/mod.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

Deno.test("createModelStore tells a model that ranks by its header, and offers it for nothing else", async () => {
  await using store = createModelStore({
    files: new MemoryFiles({ "/models/r.gguf": encodeCoveyTinyRerank() }),
    clock: new ManualClock(),
    log: new QuietLog(),
    modelsDir: "/models",
    manifestsDir: "/data/manifests",
  });
  await store.refresh();
  assert.deepEqual(
    store.list().map(({ name, architecture, capabilities, features }) => [
      name,
      architecture,
      capabilities,
      features,
    ]),
    [["r", "qwen3", ["rerank"], []]],
  );
});
