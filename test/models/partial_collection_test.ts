import assert from "node:assert/strict";
import { HubHttp } from "../../src/models/pull/hub_http.ts";
import { createPulls } from "../../src/models/pull/pulls.ts";
import {
  createSeededEntropy,
  ManualClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const DAY_MS = 24 * 3_600_000;

Deno.test("a node that runs on removes partial files once nobody has touched them for a week", async () => {
  const files = new MemoryFiles({ "/data/.keep": "" });
  const clock = new ManualClock();
  const beganMs = clock.now();
  const stat = files.stat.bind(files);
  files.stat = async (path) => ({ ...await stat(path), modifiedMs: beganMs });
  const log = new QuietLog();
  const unused = () => Promise.reject(new Error("Nothing is pulled here"));
  await using pulls = createPulls({
    files,
    clock,
    entropy: createSeededEntropy(1),
    log,
    http: new HubHttp({
      clock,
      endpoint: "http://127.0.0.1:9",
      token: null,
      fetch: () => Promise.reject(new TypeError("Nobody is there")),
    }),
    store: {
      adopt: unused,
      digestNow: unused,
      list: () => [],
      manifest: () => Promise.resolve(null),
      noteOrigins: unused,
      refresh: () => Promise.resolve(),
      remove: unused,
    },
    modelsDir: "/models",
    listPath: "/data/pulls.json",
    pieceBytes: 1000,
    freeDiskBytes: () => null,
  });
  await pulls.resume();
  // It was left after the node's start.
  await files.makeFolder("/models/.partial/left", 0o700);
  await files.writeAtomic("/models/.partial/left/a.part", "x", 0o600);
  const left = async () =>
    (await files.list("/models/.partial")).map(({ name }) => name);
  for (let day = 1; day <= 6; day++) await clock.advance(DAY_MS);
  assert.deepEqual(await left(), ["left"]);
  await clock.advance(DAY_MS);
  assert.deepEqual(await left(), []);
});
