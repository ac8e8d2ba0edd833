import assert from "node:assert/strict";
import { join } from "node:path";
import { encodeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { streamChat } from "../../scripts/lab/chat.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { membersSeen } from "../../scripts/lab/members.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { FROM_SOURCE, startNode } from "../../scripts/lab/node_process.ts";
import { startHub } from "../fakes/hub_server.ts";

const MODEL = "shared-tiny-F16";

/** Run `covey` against a node. */
async function covey(url: string, ...args: string[]) {
  const [program = "", ...own] = FROM_SOURCE;
  const { code, stderr, stdout } = await new Deno.Command(program, {
    args: [...own, ...args],
    env: { COVEY_PORT: new URL(url).port, NO_COLOR: "1" },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

Deno.test({
  name:
    "covey pull on two nodes at once fetches the bytes once, says from whom, and both serve the model",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const bytes = encodeCoveyTiny();
    const hub = stack.use(startHub({ [`${MODEL}.gguf`]: bytes }));
    const secret = newSecret();
    const start = async (name: string) =>
      stack.use(
        await startNode({
          name,
          dataDir: join(folder, name),
          env: {
            COVEY_CLUSTER_SECRET: secret,
            COVEY_ENGINE_THREADS: "1",
            COVEY_LINK_HOST: "127.0.0.1",
            COVEY_LINK_PORT: "0",
            COVEY_MDNS_INTERFACES: "127.0.0.1",
            COVEY_PORT: "0",
            COVEY_MODELS_DIR: join(folder, name, "models"),
            HF_ENDPOINT: hub.origin,
          },
        }),
      );
    const nodes = [await start("anna"), await start("ben")];
    const urls = nodes.map(({ url }) => url);
    await membersSeen(urls, 2);
    // Before anything is pulled it is told who could hold it.
    await eventually("both machines are known", async () => {
      const fit = await covey(urls[0] ?? "", "fit", "org/repo");
      assert.match(fit.out, /^shared-tiny-F16 is not here: .* would be pulled/);
      const judged = fit.out.match(/^(anna|ben) +- .*(fits|no room)/gm);
      return judged?.length === 2 || undefined;
    });
    hub.requests.length = 0;
    const pulls = await Promise.all(
      urls.map((url) => covey(url, "pull", "org/repo")),
    );
    assert.deepEqual(pulls.map(({ code }) => code), [0, 0], pulls[0]?.err);
    const asked = hub.requests.flatMap(({ range }) => {
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
      return last === undefined || last === "0"
        ? []
        : [Number(last) - Number(first) + 1];
    });
    assert.equal(asked.reduce((sum, one) => sum + one, 0), bytes.length);
    const said = pulls.map(({ out }) => out.trim()).sort();
    assert.equal(
      said[1],
      `Pulled ${MODEL}; its digest is the published one`,
    );
    assert.match(
      `${said[0]}`,
      /^Pulled shared-tiny-F16 from (?:anna|ben); its digest is the published one$/,
    );
    for (const url of urls) {
      const chat = await streamChat(url, {
        model: MODEL,
        text: "hello",
        maxTokens: 2,
        source: "local",
      });
      assert.equal(chat.status, 200);
    }
    const again = await covey(urls[0] ?? "", "sync", MODEL, "--all");
    assert.deepEqual([again.code, again.out.trim()], [
      0,
      "Every member has it already.",
    ]);
  },
});
