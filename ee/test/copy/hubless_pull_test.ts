import assert from "node:assert/strict";
import type { PullView } from "@covey/core/domain";
import { startHub } from "../../../test/fakes/hub_server.ts";
import { FakeLan } from "../cluster_fixture.ts";
import { givenBytes, met, startPulling, weights } from "./pulling_member.ts";

const COMMIT = /0123456789ab/;

function marked(mark: number): Uint8Array<ArrayBuffer> {
  const bytes = weights();
  bytes.fill(mark, 15_000);
  return bytes;
}

Deno.test("a pull whose hub fails again and again has the model from a member that had it from there, chosen as the hub's list would be, and says so", async () => {
  const files = {
    "m-Q8_0.gguf": marked(1),
    "m-Q4_K_M.gguf": marked(2),
    "m-F16.gguf": marked(3),
  };
  await using hub = startHub(files);
  const lan = new FakeLan();
  await using one = await startPulling(1, lan, hub);
  await using two = await startPulling(2, lan, hub);
  await Promise.all([met(one.node, 1), met(two.node, 1)]);
  await one.pull(() => {}, "org/repo:Q8_0");
  await one.pull(() => {}, "org/repo:Q4_K_M");
  hub.requests.length = 0;
  hub.faults.failing = { status: 503, times: Infinity };
  const views: PullView[] = [];
  const outcome = await two.pull((view) => views.push(view));
  const { model, from, note, verified } = outcome;
  assert.deepEqual([model, from, verified], ["m-Q4_K_M", ["node-1"], true]);
  assert.match(`${note}`, /^org\/repo can not be reached: this is what/);
  assert.match(`${note}`, COMMIT);
  assert.ok(views.some(({ note }) => note?.includes("members are asked")));
  assert.ok(
    views.some((one) => one.stage === "copying" && one.note === note),
  );
  const path = two.store.list()[0]?.path ?? "";
  assert.deepEqual(await two.files.readBytes(path), files["m-Q4_K_M.gguf"]);
  const origin = (await two.store.manifest(model))?.files[0]?.origin;
  assert.deepEqual([origin?.source, origin?.path], [
    "org/repo",
    "m-Q4_K_M.gguf",
  ]);
  const other = await two.pull(() => {}, "org/repo:q8_0");
  assert.deepEqual([other.model, other.from], ["m-Q8_0", ["node-1"]]);
  // What the members do not have is named, as the hub would.
  await assert.rejects(
    two.pull(() => {}, "org/repo:F16"),
    /no "F16"; it has .*Q4_K_M/,
  );
  assert.equal(givenBytes(hub), 0);
});

Deno.test("a pull whose hub refuses connections has a URL's file and what lies here itself, and says where there is nothing", async () => {
  const lan = new FakeLan();
  const hub = startHub({
    "m-Q4_0.gguf": marked(1),
    "n-Q4_0.gguf": marked(2),
  });
  await using one = await startPulling(1, lan, hub);
  await using two = await startPulling(2, lan, hub);
  await Promise.all([met(one.node, 1), met(two.node, 1)]);
  const url = `${hub.origin}/files/m-Q4_0.gguf`;
  await one.pull(() => {}, `${url}?token=a`);
  await one.pull(() => {}, "org/repo:n-Q4_0");
  await hub[Symbol.asyncDispose]();
  const copied = await two.pull(() => {}, `${url}?token=b`);
  assert.deepEqual([copied.model, copied.from, copied.verified], [
    "m-Q4_0",
    ["node-1"],
    false,
  ]);
  const again = await one.pull(() => {}, "org/repo");
  assert.deepEqual([again.model, again.from], ["n-Q4_0", []]);
  assert.match(`${again.note}`, /can not be reached/);
  await assert.rejects(
    two.pull(() => {}, "org/other"),
    /can not be reached.*; no member that answers has it from there/,
  );
});
