import assert from "node:assert/strict";
import { join } from "node:path";
import { coveyAlone } from "../../scripts/bench/gateways/covey.ts";
import { streamAtOnce } from "../../scripts/bench/gateways/measure.ts";
import { startProgram } from "../../scripts/lab/program.ts";

const STREAMS = 300;
const TOKENS = 20;
const GAP_MS = 20;
const ENGINE = join(
  import.meta.dirname ?? ".",
  "../../scripts/lab/fast_engine.ts",
);

Deno.test({
  name: "a node holds 300 streams at once without an error",
  // The measurement beside it reads /proc.
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const engine = stack.use(
      await startProgram([
        Deno.execPath(),
        "run",
        "--allow-net=127.0.0.1",
        ENGINE,
        String(GAP_MS),
      ]),
    );
    const way = await coveyAlone(stack, engine.said, folder);
    const { errors, firstError } = await streamAtOnce(way, STREAMS, TOKENS);
    assert.equal(errors, 0, firstError ?? "");
  },
});
