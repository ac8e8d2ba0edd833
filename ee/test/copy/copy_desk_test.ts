import assert from "node:assert/strict";
import {
  createSeededEntropy,
  ManualClock,
  MemoryFiles,
} from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { CopyDesk } from "../../src/copy/copy_desk.ts";
import { makeIdentity, nodeIdOf } from "../link/link_fixture.ts";
import { MemoryShelf, MODELS } from "./memory_shelf.ts";

const LOOK_MS = 500;
const NONE_YET = "waiting";

/** A desk whose copies wait for members that never come, and whose removals wait until they are let through. */
async function openDesk() {
  const clock = new ManualClock();
  const files = new MemoryFiles({ [`${MODELS}/.keep`]: "" });
  const asked: string[] = [];
  const gate = Promise.withResolvers<void>();
  const { remove } = files;
  files.remove = async (path) => {
    asked.push(path);
    await gate.promise;
    await remove.call(files, path);
  };
  const desk = new CopyDesk({
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
  return {
    asked,
    desk,
    letThrough: () => gate.resolve(),
    async becomes(id: string, state: string) {
      while (desk.find(id)?.state !== state) await clock.advance(LOOK_MS);
    },
    async removes(path: string) {
      while (!asked.includes(path)) await clock.advance(LOOK_MS);
    },
  };
}

Deno.test("a copy that is asked for again once it was cancelled is another one, and begins when the old bytes are gone", async () => {
  const { becomes, desk, letThrough, removes } = await openDesk();
  await using _owned = desk;
  const ask = { root: "a".repeat(64), model: "m", bytesPerSecond: null };
  const { id } = desk.start(ask);
  await becomes(id, NONE_YET);
  assert.equal(desk.cancel(id)?.state, "cancelled");
  const again = desk.start(ask);
  assert.notEqual(again.id, id);
  await removes(`${MODELS}/.copies/${ask.root}`);
  assert.equal(desk.find(again.id)?.state, "queued");
  letThrough();
  await becomes(again.id, NONE_YET);
  assert.equal(desk.find(id)?.state, "cancelled");
});

Deno.test("copies of two models with one vision part take turns", async () => {
  const { becomes, desk } = await openDesk();
  await using _owned = desk;
  const companions = "c".repeat(64);
  const [one, two, other] = ["a", "b", "d"].map((digit) =>
    desk.start({
      root: digit.repeat(64),
      model: digit,
      bytesPerSecond: null,
      ...digit === "d" ? {} : { companions },
    })
  );
  await becomes(one?.id ?? "", NONE_YET);
  await becomes(other?.id ?? "", NONE_YET);
  assert.equal(desk.find(two?.id ?? "")?.state, "queued");
});
