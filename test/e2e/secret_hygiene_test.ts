import assert from "node:assert/strict";
import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { streamChat } from "../../scripts/lab/chat.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { startNode } from "../../scripts/lab/node_process.ts";
import { descendants } from "./procfs.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";

const SECRET = newSecret();
const BEFORE = newSecret();

Deno.test({
  name:
    "secrets, tokens and codes are in no child, list of processes, log or answer",
  ignore: !HAS_CLUSTER || Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const models = join(folder, "models");
    await writeCoveyTiny(models);
    const node = stack.use(
      await startNode({
        name: "anna",
        dataDir: join(folder, "anna"),
        env: {
          COVEY_CLUSTER_SECRET: SECRET,
          COVEY_CLUSTER_SECRET_PREVIOUS: BEFORE,
          COVEY_ENGINE_THREADS: "1",
          COVEY_LINK_HOST: "127.0.0.1",
          COVEY_LINK_PORT: "0",
          COVEY_LOG_LEVEL: "debug",
          COVEY_MDNS_INTERFACES: "127.0.0.1",
          COVEY_MODELS_DIR: models,
          COVEY_PORT: "0",
        },
      }),
    );
    const ask = async (path: string, body?: unknown) => {
      const response = await fetch(
        `${node.url}${path}`,
        body === undefined ? {} : {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        },
      );
      return await response.text();
    };
    const { token } = JSON.parse(await ask("/cluster/invites", {}));
    const { code } = JSON.parse(await ask("/cluster/invites", { code: true }));
    assert.ok(typeof token === "string" && typeof code === "string");
    await streamChat(node.url, {
      model: "covey-tiny",
      text: "hello",
      maxTokens: 4,
    });

    const texts = new Map<string, string>();
    for (
      const path of [
        "/cluster/members",
        "/cluster/audit",
        "/cluster/doctor",
        "/metrics",
        "/v1/models",
      ]
    ) texts.set(path, await ask(path));
    texts.set(
      "wrong token",
      await ask("/cluster/join", { token: `${token}0` }),
    );
    texts.set(
      "own code",
      await ask("/cluster/join", { code, at: "127.0.0.1" }),
    );
    texts.set("leave", await ask("/cluster/leave", {}));
    texts.set("log", node.log());
    texts.set("cmdline", await Deno.readTextFile(`/proc/${node.pid}/cmdline`));
    const children = await descendants(node.pid);
    assert.ok(children.length > 0, "The engine runs in a child");
    for (const pid of children) {
      for (const file of ["cmdline", "environ"]) {
        texts.set(
          `${file} of child ${pid}`,
          await Deno.readTextFile(`/proc/${pid}/${file}`),
        );
      }
    }
    const letters = token.replaceAll("-", "").slice(20, 60);
    const whole = new RegExp(`(?<!\\d)${code}(?!\\d)`);
    for (const [place, text] of texts) {
      const plain = text.replaceAll("-", "");
      for (const hidden of [SECRET, BEFORE, token, letters]) {
        assert.ok(!text.includes(hidden) && !plain.includes(hidden), place);
      }
      assert.doesNotMatch(text, whole, place);
    }
  },
});
