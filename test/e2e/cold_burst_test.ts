import assert from "node:assert/strict";
import { coveyMembers } from "../../scripts/bench/gateways/covey.ts";
import { streamAtOnce } from "../../scripts/bench/gateways/measure.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { startFastEngine } from "../../scripts/lab/start_fast_engine.ts";

const CHATS = 60;
const TOKENS = 20;
const GAP_MS = 20;

Deno.test({
  name: "60 chats at once reach a member that had no connection for them",
  // What counts the streams measures processor time, which it reads in /proc.
  ignore: !HAS_CLUSTER || Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const engine = stack.use(await startFastEngine(GAP_MS));
    const way = await coveyMembers(stack, engine.said, folder);
    const { errors, firstError } = await streamAtOnce(way, CHATS, TOKENS);
    assert.equal(errors, 0, firstError ?? "");
  },
});
