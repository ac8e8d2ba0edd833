import assert from "node:assert/strict";
import { coveyAlone } from "../../scripts/bench/gateways/covey.ts";
import { streamAtOnce } from "../../scripts/bench/gateways/measure.ts";
import { startFastEngine } from "../../scripts/lab/start_fast_engine.ts";

const STREAMS = 300;
const TOKENS = 20;
const GAP_MS = 20;

Deno.test({
  name: "a node holds 300 streams at once without an error",
  // The measurement beside it reads /proc.
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const engine = stack.use(await startFastEngine(GAP_MS));
    const way = await coveyAlone(stack, engine.said, folder);
    const { errors, firstError } = await streamAtOnce(way, STREAMS, TOKENS);
    assert.equal(errors, 0, firstError ?? "");
  },
});
