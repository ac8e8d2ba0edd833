import assert from "node:assert/strict";
import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { membersSeen } from "../../scripts/lab/members.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { startNode } from "../../scripts/lab/node_process.ts";

/** What Ollama's own list says of models in memory. */
interface Running {
  readonly name: string;
  readonly node: string;
  readonly expires_at: string;
  readonly context_length: number;
  readonly size: number;
}

Deno.test({
  name:
    "keep_alive, num_ctx and unloading of Ollama's dialect are honoured by the member that serves, with a real engine",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const models = join(folder, "models");
    await writeCoveyTiny(models);
    const secret = newSecret();
    const start = async (name: string) =>
      stack.use(
        await startNode({
          name,
          dataDir: join(folder, name),
          env: {
            COVEY_CLUSTER_SECRET: secret,
            COVEY_CONTEXT: "512",
            // Programs for speech that this machine may have are no models of the test.
            COVEY_ENGINE: "embedded",
            COVEY_ENGINE_THREADS: "1",
            COVEY_LINK_HOST: "127.0.0.1",
            COVEY_LINK_PORT: "0",
            COVEY_MDNS_INTERFACES: "127.0.0.1",
            COVEY_MODELS_DIR: models,
            COVEY_PORT: "0",
          },
        }),
      );
    const anna = await start("anna");
    const ben = await start("ben");
    await membersSeen([anna.url, ben.url], 2);
    const generate = async (body: object) => {
      const response = await fetch(`${anna.url}/node/ben/api/generate`, {
        method: "POST",
        body: JSON.stringify({ model: "covey-tiny", stream: false, ...body }),
      });
      return { status: response.status, ...await response.json() };
    };
    const running = async (url: string): Promise<readonly Running[]> =>
      (await (await fetch(`${url}/api/ps`)).json()).models;

    const loaded = await generate({ keep_alive: -1 });
    assert.deepEqual([loaded.status, loaded.done_reason], [200, "load"]);
    const [model, ...more] = await running(ben.url);
    assert.deepEqual([model?.name, model?.context_length, more.length], [
      "covey-tiny",
      512,
      0,
    ]);
    assert.ok(Date.parse(model?.expires_at ?? "") > Date.now() + 1e12);
    // The entry hears of it with the next status.
    const seen = await eventually(
      "the entry sees the peer's model",
      async () =>
        (await running(anna.url)).find(({ expires_at, node }) =>
          node === "ben" && Date.parse(expires_at) > Date.now() + 1e12
        ),
    );
    assert.equal(seen.size, model?.size);

    const grown = await generate({
      prompt: "hello",
      options: { num_ctx: 1024, num_predict: 2 },
    });
    assert.equal(grown.eval_count, 2);
    const [longer] = await running(ben.url);
    assert.equal(longer?.context_length, 1024);
    assert.ok(Date.parse(longer?.expires_at ?? "") > Date.now() + 1e12);
    const beyond = await generate({
      prompt: "hello",
      options: { num_ctx: 8192 },
    });
    assert.equal(beyond.status, 400);
    assert.match(beyond.error, /can have 4096 tokens of context, 8192/);

    const unloaded = await generate({ keep_alive: 0 });
    assert.equal(unloaded.done_reason, "unload");
    assert.deepEqual(await running(ben.url), []);
    await generate({
      prompt: "hi",
      options: { num_predict: 1 },
      keep_alive: 0,
    });
    await eventually(
      "the model left after its answer",
      async () => (await running(ben.url)).length === 0 ? true : undefined,
    );

    await eventually("the model fits both members", async () => {
      const { nodes } = await (await fetch(`${anna.url}/covey/fit/covey-tiny`))
        .json();
      return nodes.length === 2 &&
          nodes.every(({ verdict }: { verdict: string }) => verdict === "fits")
        ? true
        : undefined;
    });
  },
});
