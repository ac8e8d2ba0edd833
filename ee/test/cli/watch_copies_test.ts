import assert from "node:assert/strict";
import { type ApiReply, type CliContext, DONE, FAILED } from "@covey/core/cli";
import type { JsonObject } from "@covey/core/domain";
import { CLUSTER_COMMANDS } from "../../src/cli/mod.ts";
import { createOfflineContext } from "./offline_context.ts";

function copyOf(id: string, nodeName: string, more: JsonObject): JsonObject {
  return {
    id,
    nodeName,
    model: "m",
    state: "copying",
    doneBytes: 0,
    totalBytes: 1000e6,
    bytesPerSecond: 100e6,
    sources: ["anna"],
    message: null,
    ...more,
  };
}

/** Run a command while copies go through these states, one for each question. */
async function run(
  line: readonly string[],
  begun: JsonObject,
  states: readonly (readonly JsonObject[])[],
  status?: (text: string) => void,
) {
  const waiting = [...states];
  const answered = (body: JsonObject): ApiReply => ({ kind: "answered", body });
  const offline = createOfflineContext();
  let nowMs = 0;
  const context: CliContext = {
    ...offline,
    postJson: () => Promise.resolve(answered(begun)),
    fetchJson: () =>
      Promise.resolve(answered({ copies: waiting.shift() ?? [] })),
    nowMs: () => nowMs,
    sleep(ms) {
      nowMs += ms;
      return Promise.resolve();
    },
    ...(status === undefined ? {} : { status }),
  };
  const [name, ...args] = line;
  const command = CLUSTER_COMMANDS.find((one) => one.name === name);
  const code = await command?.run(args, context);
  return { code, out: offline.out.join("\n"), err: offline.err };
}

Deno.test("covey copy waits until each node is done, with lines where there is no terminal, and fails when one is not", async () => {
  const a = (more: JsonObject) => copyOf("a", "pi", more);
  const b = (more: JsonObject) => copyOf("b", "ben", more);
  const begun = { copies: [a({}), b({})], failed: [] };
  const other = copyOf("z", "carl", {});
  const { code, err, out } = await run(["copy", "m", "pi", "ben"], begun, [
    [a({ doneBytes: 500e6 }), b({}), other],
    // One that does not answer just now is waited for.
    [a({ state: "done", doneBytes: 1000e6 })],
    [
      a({ state: "done", doneBytes: 1000e6 }),
      b({ state: "failed", message: "The disk is full" }),
    ],
  ]);
  assert.equal(code, FAILED);
  assert.equal(
    err[0],
    "copying (0 of 2 nodes done) 500 of 2000 MB at 200.0 MB/s with 8 s left from anna",
  );
  assert.equal(
    out,
    "Copied m to pi from anna\nNot copied (failed): m to ben: The disk is full",
  );
  const was = {
    state: "done",
    totalBytes: 0,
    sources: [],
    message: "It is here",
  };
  const fine = await run(["sync", "m", "--all"], begun, [
    [a({ state: "done" }), b(was)],
  ]);
  assert.equal(fine.code, DONE);
  assert.match(fine.out, /\nNothing to copy: m to ben: It is here$/);
});

Deno.test("covey copy draws a bar on a terminal, and with --detach does not wait", async () => {
  const begun = { copies: [copyOf("a", "pi", {})], failed: [] };
  const drawn: string[] = [];
  const watched = await run(["copy", "m", "pi"], begun, [
    [copyOf("a", "pi", { doneBytes: 500e6 })],
    [copyOf("a", "pi", { state: "done" })],
  ], (text) => drawn.push(text));
  assert.deepEqual([watched.code, watched.err], [DONE, []]);
  assert.deepEqual(drawn, [
    "[############............]  50 % copying 500 of 1000 MB at 100.0 MB/s with 5 s left from anna",
    "",
  ]);
  const detached = await run(["copy", "m", "pi", "--detach"], begun, []);
  assert.equal(detached.code, DONE);
  assert.match(detached.out, /^m +pi +copying/m);
});
