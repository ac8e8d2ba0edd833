import assert from "node:assert/strict";
import { join } from "node:path";
import { eventually } from "../../../scripts/lab/eventually.ts";
import type { LanHost } from "../../../scripts/lab/lan/lan_host.ts";
import { makeFolder, startLanNode } from "../../../scripts/lab/lan/lan_node.ts";
import { TestLan } from "../../../scripts/lab/lan/test_lan.ts";
import { startProgram } from "../../../scripts/lab/program.ts";
import { lanTest } from "./lan_test_case.ts";

const ENGINE = join(
  import.meta.dirname ?? ".",
  "../../../scripts/lab/fast_engine.ts",
);

/** Long enough for packets to vanish while a server works. */
const ANSWER_MS = 4000;
/** The most that a request may take, however slow this machine is: the limits themselves are held by tests on a clock of their own. */
const LONGEST_S = 90;

/** A server of the model "fast" on a host: its address. */
async function startEngine(
  stack: AsyncDisposableStack,
  host: LanHost,
  hostname: string,
): Promise<string> {
  const engine = await startProgram(
    host.command(
      Deno.execPath(),
      ...["run", "--no-prompt", "-A", ENGINE],
      ...["0", "4", hostname, String(ANSWER_MS)],
    ),
  );
  return stack.use(engine).said;
}

/** Have a host take no TCP packet of a port, and say nothing about it. */
async function swallow(host: LanHost, port: string): Promise<void> {
  await host.run("nft", "add table inet hole");
  await host.run(
    "nft",
    "add chain inet hole in { type filter hook input priority 0; }",
  );
  await host.run("nft", `add rule inet hole in tcp dport ${port} drop`);
}

lanTest(
  "a server whose packets vanish delays no list, and the requests it had go to the one that is left (RTE-06)",
  ["nft"],
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(2));
    const [here, there] = [lan.host(1), lan.host(2)];
    const near = await startEngine(stack, here, "127.0.0.1");
    const far = await startEngine(stack, there, there.address.ipv4);
    const hole = `http://${there.address.ipv4}:9`;
    await swallow(there, "9");
    const { process } = stack.use(
      await startLanNode(here, {
        folder: await makeFolder(stack),
        env: {
          COVEY_CLUSTER_SECRET: "",
          COVEY_ENGINE: "embedded",
          COVEY_ROUTING: "balanced",
          COVEY_UPSTREAMS: [
            `near=llama-server:${near}`,
            `far=llama-server:${far}`,
            `hole=vllm:${hole}`,
          ].join(","),
        },
      }),
    );
    const get = async (path: string) => {
      // Gives up after two seconds, which is what a list may take.
      const text = await here.fetch(`${process.url}${path}`);
      return text === undefined ? undefined : JSON.parse(text);
    };
    const stateOf = async (id: string): Promise<string | undefined> =>
      (await get("/fleet/health"))?.workers[0].checks.engines
        .find((engine: { readonly id: string }) => engine.id === id)?.state;
    const areListed = async () => {
      for (let n = 0; n < 30; n++) {
        const { data } = await get("/v1/models");
        assert.deepEqual(data.map(({ id }: { id: string }) => id), ["fast"]);
        const { models } = await get("/api/tags");
        assert.equal(models.length, 1);
      }
    };
    const chat = async (n: number) => {
      const body = {
        model: "fast",
        messages: [{ role: "user", content: `question ${n}` }],
        // Without it the limit of an answer is its whole context.
        ...(n % 2 === 0 ? {} : { max_tokens: 4 }),
      };
      const text = await here.run(
        ...["curl", "-sS", "-m", String(LONGEST_S)],
        ...["-H", "content-type: application/json"],
        ...["-d", JSON.stringify(body), "-D", "-"],
        `${process.url}/v1/chat/completions`,
      );
      assert.match(text, /^HTTP\/1\.1 200 /, text);
    };
    await eventually("both servers are known", async () => {
      const states = await Promise.all(["near", "far"].map(stateOf));
      return states.every((state) => state === "available") ? true : undefined;
    });
    await areListed();
    const chats = () =>
      Promise.all(Array.from({ length: 8 }, (_, n) => chat(n)));
    const underWay = chats();
    // Read below; until then it may fail with nobody listening.
    underWay.catch(() => {});
    await eventually("the far server works", async () => {
      const metrics = await here.fetch(`${process.url}/metrics`) ?? "";
      return /covey_queue_running\{device="upstream far"\} [1-9]/.test(metrics)
        ? true
        : undefined;
    });
    await swallow(there, new URL(far).port);
    await Promise.all([underWay, chats(), areListed()]);
    await eventually("what is gone is shown as such", async () => {
      const states = await Promise.all(["near", "far", "hole"].map(stateOf));
      return states.join(" ") === "available unavailable unavailable"
        ? true
        : undefined;
    }, 120_000);
    await areListed();
    await chat(9);
  },
);
