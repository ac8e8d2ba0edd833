import assert from "node:assert/strict";
import {
  createSeededEntropy,
  ManualClock,
  MemoryFiles,
} from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { CopyDesk } from "../../src/copy/copy_desk.ts";
import { writeKeptAsk } from "../../src/copy/kept_ask.ts";
import { makeIdentity, nodeIdOf } from "../link/link_fixture.ts";
import { MemoryShelf, MODELS } from "./memory_shelf.ts";

const DAY_MS = 24 * 3_600_000;

Deno.test("CopyDesk removes each day what came of copies that nobody went on with for a week, and no paused one", async () => {
  const clock = new ManualClock();
  const beganMs = clock.now();
  const files = new MemoryFiles({ [`${MODELS}/.keep`]: "" });
  const stat = files.stat.bind(files);
  files.stat = async (path) => ({ ...await stat(path), modifiedMs: beganMs });
  const paused = "a".repeat(64);
  const failed = "b".repeat(64);
  const kept = { model: "m", bytesPerSecond: null };
  await writeKeptAsk(files, MODELS, paused, { ...kept, paused: true });
  await using desk = new CopyDesk({
    shelf: new MemoryShelf(files),
    files,
    clock,
    entropy: createSeededEntropy(1),
    log: new QuietLog(),
    machine: undefined,
    credentials: await makeIdentity(1),
    candidates: () => [],
    isBusy: () => false,
    self: { node: nodeIdOf(1), nodeName: "node-1" },
  });
  await desk.resume();
  // It failed after the node's start.
  await writeKeptAsk(files, MODELS, failed, { ...kept, paused: false });
  const roots = async () =>
    (await files.list(`${MODELS}/.copies`)).map(({ name }) => name);
  for (let day = 1; day <= 6; day++) await clock.advance(DAY_MS);
  assert.deepEqual(await roots(), [paused, failed]);
  await clock.advance(DAY_MS);
  assert.deepEqual(await roots(), [paused]);
});
