import assert from "node:assert/strict";
import { join } from "node:path";
import { FROM_SOURCE, inheritedEnv } from "../../scripts/lab/node_process.ts";

Deno.test("a node whose log nobody reads any more serves all the same", async () => {
  const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const [program = "", ...args] = FROM_SOURCE;
  const node = new Deno.Command(program, {
    args: [...args, "serve"],
    clearEnv: true,
    env: {
      ...inheritedEnv(),
      COVEY_DATA_DIR: join(folder, "data"),
      // Each request is a line.
      COVEY_LOG_LEVEL: "debug",
      COVEY_PORT: "0",
      COVEY_UPSTREAMS: "off",
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  stack.defer(async () => void await node.status);
  stack.defer(() => node.kill("SIGTERM"));
  await node.stderr.cancel();
  let said = "";
  let url: string | undefined;
  const decoder = new TextDecoder();
  for await (const chunk of node.stdout) {
    said += decoder.decode(chunk, { stream: true });
    url = /ready at (\S+)/.exec(said)?.[1];
    if (url !== undefined) break;
  }
  for (const path of ["/healthz", "/v1/models", "/nowhere"]) {
    const answer = await fetch(`${url}${path}`);
    await answer.body?.cancel();
    assert.equal(answer.status, path === "/nowhere" ? 404 : 200, path);
  }
});
