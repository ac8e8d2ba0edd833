import assert from "node:assert/strict";
import { CHUNK_BYTES, type Cluster, isJsonObject } from "@covey/core/domain";
import { createSeededEntropy, MemoryFiles } from "@covey/core/platform";
import { FakeLan, TestNode } from "../cluster_fixture.ts";
import { MemoryShelf, MODELS } from "./memory_shelf.ts";

const SIGNAL = new AbortController().signal;

/** The slow copy, as a node lists it. */
async function slow(cluster: Cluster) {
  const answer = await cluster.act("copies", {}, SIGNAL);
  assert.ok(isJsonObject(answer) && Array.isArray(answer.copies));
  const copy = answer.copies.filter(isJsonObject)
    .find(({ model }) => model === "slow");
  return { doneBytes: Number(copy?.doneBytes), state: String(copy?.state) };
}

Deno.test("the limit of a copy outlives a restart of the node that receives it", async () => {
  const lan = new FakeLan();
  const weights = (seed: number) =>
    createSeededEntropy(seed).bytes(3 * CHUNK_BYTES - 1000);
  const from = new MemoryFiles({
    [`${MODELS}/slow.gguf`]: weights(1),
    [`${MODELS}/free.gguf`]: weights(2),
  });
  const shelf = new MemoryShelf(from);
  await shelf.refresh();
  const read: string[] = [];
  const readChunk = shelf.readChunk.bind(shelf);
  shelf.readChunk = (model, ...place) => {
    read.push(model);
    return readChunk(model, ...place);
  };
  const one = new TestNode(1, lan, { files: from, models: shelf });
  await using first = await one.cluster;
  const files = new MemoryFiles();
  const start = async () => {
    const models = new MemoryShelf(files);
    await models.refresh();
    return new TestNode(2, lan, { files, models });
  };
  const chunks = () => read.filter((model) => model === "slow").length;
  {
    const two = await start();
    await using _second = await two.cluster;
    await one.log.until("A member is healthy");
    // The first chunk is free, and the second an hour away.
    const limit = { bytesPerSecond: CHUNK_BYTES / 3600 };
    await first.act(
      "copy",
      { model: "slow", to: ["node-2"], ...limit },
      SIGNAL,
    );
    while ((await slow(first)).doneBytes === 0);
  }
  const again = await start();
  await using second = await again.cluster;
  await again.log.until("A copy goes on where it was left");
  await again.log.until("A member is healthy");
  // A whole model passes it by.
  await first.act("copy", { model: "free", to: ["node-2"] }, SIGNAL);
  await again.log.until("A model was copied");
  assert.ok(chunks() <= 2, `${chunks()}`);
  const { doneBytes, state } = await slow(second);
  assert.ok(doneBytes > 0);
  assert.ok(state === "copying" || state === "waiting", state);
});
