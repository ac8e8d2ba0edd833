import assert from "node:assert/strict";
import { join } from "node:path";
import { encodeCoveyTiny } from "../../scripts/fixtures/covey_tiny.ts";
import { streamChat } from "../../scripts/lab/chat.ts";
import { startNode } from "../../scripts/lab/node_process.ts";
import { sha256Of } from "../fakes/hub_server.ts";

/** What Ollama keeps: a blob by its digest, and a manifest that names it. */
async function writeOllama(
  folder: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const digest = sha256Of(bytes);
  const models = join(folder, "models");
  const names = join(models, "manifests/registry.ollama.ai/library/tiny");
  await Deno.mkdir(join(models, "blobs"), { recursive: true });
  await Deno.mkdir(names, { recursive: true });
  const blob = join(models, "blobs", `sha256-${digest}`);
  await Deno.writeFile(blob, bytes);
  await Deno.writeTextFile(
    join(names, "latest"),
    JSON.stringify({
      schemaVersion: 2,
      layers: [{
        mediaType: "application/vnd.ollama.image.model",
        digest: `sha256:${digest}`,
        size: bytes.length,
      }],
    }),
  );
  return blob;
}

/** What the hub's own programs keep: a blob, and a link to it in a snapshot. */
async function writeHubCache(
  folder: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const repo = join(folder, "models--org--tiny");
  const snapshot = join(repo, "snapshots/0123");
  await Deno.mkdir(join(repo, "blobs"), { recursive: true });
  await Deno.mkdir(snapshot, { recursive: true });
  const digest = sha256Of(bytes);
  const blob = join(repo, "blobs", digest);
  await Deno.writeFile(blob, bytes);
  const link = join(snapshot, "hub-tiny-F16.gguf");
  await Deno.symlink(`../../blobs/${digest}`, link);
  return blob;
}

Deno.test("import --found lists and serves what Ollama and a Hugging Face cache hold, and no byte lies there twice (GGF-04)", async () => {
  await using stack = new AsyncDisposableStack();
  const home = await Deno.makeTempDir({ prefix: "covey-import-" });
  stack.defer(() => Deno.remove(home, { recursive: true }));
  const bytes = encodeCoveyTiny();
  const ollama = await writeOllama(join(home, ".ollama"), bytes);
  const hub = await writeHubCache(
    join(home, ".cache/huggingface/hub"),
    bytes,
  );
  const cache = Deno.env.get("DENO_DIR") ??
    join(Deno.env.get("HOME") ?? "/root", ".cache/deno");
  const node = stack.use(
    await startNode({
      name: "solo",
      dataDir: join(home, "data"),
      env: {
        HOME: home,
        XDG_CACHE_HOME: join(home, ".cache"),
        DENO_DIR: cache,
        COVEY_PORT: "0",
        // Programs for speech that this machine may have are no models of the test.
        COVEY_ENGINE: "embedded",
        COVEY_ENGINE_THREADS: "1",
        COVEY_MODELS_DIR: join(home, "models"),
      },
    }),
  );
  const answer = await fetch(`${node.url}/covey/imports`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ found: true }),
  });
  const lines = (await answer.text()).trimEnd().split("\n");
  assert.deepEqual(JSON.parse(lines.at(-1) ?? ""), {
    status: "success",
    imported: [
      { model: "tiny", shared: true },
      { model: "hub-tiny-F16", shared: true },
    ],
    skipped: [],
    programs: ["Ollama", "Hugging Face"],
  });
  const listed = await (await fetch(`${node.url}/v1/models`)).json();
  assert.deepEqual(
    listed.data.map(({ id }: { id: string }) => id).sort(),
    ["hub-tiny-F16", "tiny"],
  );
  for (
    const [model, blob] of [["tiny", ollama], ["hub-tiny-F16", hub]] as const
  ) {
    const chat = await streamChat(node.url, {
      model,
      text: "hello",
      maxTokens: 4,
    });
    assert.equal(chat.status, 200);
    assert.ok(chat.outputTokens > 0);
    const from = await Deno.stat(blob);
    const here = await Deno.stat(
      join(home, "models/imported", `${model}.gguf`),
    );
    assert.deepEqual([here.dev, here.ino, here.nlink], [from.dev, from.ino, 2]);
  }
});
