import assert from "node:assert/strict";
import { join } from "node:path";
import { writeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { membersSeen } from "../../scripts/lab/members.ts";
import {
  FROM_SOURCE,
  inheritedEnv,
  startNode,
} from "../../scripts/lab/node_process.ts";
import { AddressCluster } from "./address_cluster.ts";

/** What says here how the registry is reached. */
const REACH = [
  "NPM_CONFIG_REGISTRY",
  "HTTPS_PROXY",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
];
const DRIVERS = "/usr/share/vulkan/icd.d";

/** Mesa's driver that computes on the processor: a card for machines that have none. */
async function hasSoftwareVulkan(): Promise<boolean> {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") return false;
  try {
    for await (const { name } of Deno.readDir(DRIVERS)) {
      if (name.startsWith("lvp_icd")) return true;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return false;
}

const canRun = await hasSoftwareVulkan();

Deno.test({
  name: canRun
    ? "engine add vulkan fetches what the next model that is loaded computes on"
    : "engine add vulkan computes on a card (skipped: needs Debian's mesa-vulkan-drivers and libvulkan1)",
  ignore: !canRun,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-pack-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const dataDir = join(folder, "data");
    const models = join(folder, "models");
    await Deno.mkdir(dataDir);
    await writeCoveyTiny(models);
    const reach = Object.fromEntries(
      REACH.flatMap((name) => {
        const value = Deno.env.get(name);
        return value === undefined ? [] : [[name, value]];
      }),
    );
    const covey = (...words: string[]) =>
      runEngine({ ...reach, COVEY_DATA_DIR: dataDir }, words);
    assert.match(await covey("list"), /vulkan\s+available/);
    assert.match(await covey("add", "vulkan"), /Added vulkan/);
    assert.match(await covey("list"), /vulkan\s+installed/);

    const node = stack.use(
      await startNode({
        name: "carded",
        dataDir,
        env: {
          COVEY_PORT: "0",
          COVEY_ENGINE_THREADS: "1",
          COVEY_MODELS_DIR: models,
          COVEY_LOG_LEVEL: "debug",
          // llama.cpp leaves drivers that are no card alone unless told.
          GGML_VK_VISIBLE_DEVICES: "0",
        },
      }),
    );
    // Loading is enough: this driver compiles for long before it computes.
    const loaded = await fetch(`${node.url}/api/generate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "covey-tiny", prompt: "", stream: false }),
    });
    assert.equal(loaded.status, 200, await loaded.text());
    assert.match(node.log(), /[1-9] layers compute on vulkan: llvmpipe/);
    const { models: [held] } = await (await fetch(`${node.url}/api/ps`)).json();
    assert.ok(
      held.size_vram > 0 && held.size_vram < held.size,
      `${held.size_vram}`,
    );
    const { nodes: [fit] } = await (
      await fetch(`${node.url}/covey/fit/covey-tiny`)
    ).json();
    // No sensor knows this card: its process told of it.
    assert.equal(fit.cardBytes, held.size_vram);
    assert.ok(fit.cardTotalBytes > fit.cardFreeBytes, JSON.stringify(fit));
    // What it computes meanwhile to measure itself takes this driver too long to wait for.
    await node.end("SIGKILL");
    if (HAS_CLUSTER) await comesFromMember(join(dataDir, "packs"));
  },
});

/** A machine that reaches no registry has the same of a member that has it. */
async function comesFromMember(packs: string): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "covey-pack-" });
  await Deno.mkdir(join(folder, "entry"));
  await Deno.rename(packs, join(folder, "entry", "packs"));
  await using cluster = new AddressCluster(folder, {
    env: { COVEY_ENGINE: "off" },
  });
  await cluster.open({});
  const other = await cluster.add("other", {});
  await membersSeen([other.url], 2);
  const covey = (...words: string[]) =>
    runEngine({
      COVEY_DATA_DIR: join(folder, "other"),
      COVEY_PORT: new URL(other.url).port,
      // Nobody is there.
      NPM_CONFIG_REGISTRY: "http://127.0.0.1:9",
    }, words);
  assert.match(await covey("list"), /vulkan\s+available\s+27 MB\s+npm, entry/);
  assert.match(await covey("add", "vulkan"), /Added vulkan from entry/);
  assert.match(await covey("list"), /vulkan\s+installed/);
}

/** Run `covey engine` as a user does. */
async function runEngine(
  env: Readonly<Record<string, string>>,
  words: readonly string[],
): Promise<string> {
  const [program = "", ...args] = FROM_SOURCE;
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args, "engine", ...words],
    clearEnv: true,
    env: { ...inheritedEnv(), ...env },
  }).output();
  const [said, failed] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  assert.equal(code, 0, failed);
  return said ?? "";
}
