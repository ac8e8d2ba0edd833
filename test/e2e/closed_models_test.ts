import assert from "node:assert/strict";
import { join } from "node:path";
import { FROM_SOURCE, startNode } from "../../scripts/lab/node_process.ts";

Deno.test({
  name:
    "DLD-06 a models folder behind a closed parent: the node serves, refuses downloads, and its log names the folder and the user",
  // Root enters every folder, unless it gives that power up.
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const root = await Deno.makeTempDir({ prefix: "covey-closed-" });
    stack.defer(() => Deno.remove(root, { recursive: true }));
    const closed = join(root, "closed");
    await Deno.mkdir(closed, { mode: 0o000 });
    stack.defer(() => Deno.chmod(closed, 0o700));
    const powerless = Deno.uid() === 0
      ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
      : [];
    const node = stack.use(
      await startNode({
        name: "solo",
        dataDir: join(root, "data"),
        env: { COVEY_PORT: "0", COVEY_MODELS_DIR: join(closed, "models") },
        command: [...powerless, ...FROM_SOURCE],
      }),
    );
    const response = await fetch(`${node.url}/covey/imports`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ folder: root }),
    });
    const told = await response.text();
    assert.match(told, /the node's log names the folder and the user/);
    assert.ok(!told.includes(root), told);
    const log = node.log();
    assert.ok(log.includes(`permission denied in \\"${closed}\\"`), log);
    assert.ok(log.includes(`(user ${Deno.uid()})`), log);
  },
});
