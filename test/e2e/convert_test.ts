import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { encodeCoveyTiny, header } from "../../scripts/fixtures/covey_tiny.ts";
import { buildTinyVocabulary } from "../../scripts/fixtures/covey_tiny_vocabulary.ts";
import { chatTensors } from "../../scripts/fixtures/covey_tiny_weights.ts";
import { encodeGguf } from "../../scripts/fixtures/gguf_writer.ts";
import { streamChat } from "../../scripts/lab/chat.ts";
import { startNode } from "../../scripts/lab/node_process.ts";
import { ConvertedFile } from "../../src/models/convert/converted_file.ts";
import { readGgufLayout } from "../../src/models/convert/gguf_layout.ts";
import { createDenoFiles } from "../../src/platform/mod.ts";

const FILES = createDenoFiles(() => crypto.randomUUID());
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const LIBRARIES = join(
  ROOT,
  "node_modules/.deno/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64",
);

function hasLibraries(): boolean {
  try {
    return Deno.build.os === "linux" && Deno.build.arch === "x86_64" &&
      Deno.statSync(join(LIBRARIES, "libllama.v0.4.0.so")).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** A tiny model whose matrices are of each type that is converted, with weights that lie between two steps. */
function encodeMixed(): Uint8Array<ArrayBuffer> {
  const types = ["f32", "f16", "bf16"] as const;
  const tensors = chatTensors(buildTinyVocabulary(), 1).map((tensor, at) => {
    if (tensor.shape.length === 1) return tensor;
    // Exact in each type.
    tensor.data.set([127, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0, -126.5]);
    return { ...tensor, type: types[at % types.length] ?? "f32" };
  });
  return encodeGguf({ metadata: header("covey-tiny", []), tensors });
}

/** What a file says in its metadata, and each tensor's type and bytes by its name. */
async function contentOf(path: string) {
  const bytes = await Deno.readFile(path);
  using file = await FILES.open(path);
  const { pairs, tensors } = await readGgufLayout(file, bytes.length);
  return {
    metadata: bytes.slice(0, pairs.at(-1)?.end),
    tensors: new Map(
      tensors.map(({ name, sizeBytes, start, type }) => [name, {
        type,
        bytes: bytes.slice(start, start + (sizeBytes ?? 0)),
      }]),
    ),
  };
}

Deno.test("a converted model is made, verified and answers in the embedded engine", async () => {
  await using stack = new AsyncDisposableStack();
  const home = await Deno.makeTempDir({ prefix: "covey-convert-" });
  stack.defer(() => Deno.remove(home, { recursive: true }));
  const original = join(home, "models/tiny-F32.gguf");
  const made = join(home, "models/tiny-Q8_0.gguf");
  await Deno.mkdir(join(home, "models"));
  await Deno.writeFile(original, encodeCoveyTiny());
  const node = stack.use(
    await startNode({
      name: "solo",
      dataDir: join(home, "data"),
      env: {
        COVEY_PORT: "0",
        COVEY_ENGINE: "embedded",
        COVEY_ENGINE_THREADS: "1",
        COVEY_MODELS_DIR: join(home, "models"),
      },
    }),
  );
  const ask = async (path: string, body: object) => {
    const answer = await fetch(`${node.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const lines = (await answer.text()).trimEnd().split("\n");
    return JSON.parse(lines.at(-1) ?? "");
  };
  const converted = await ask("/covey/models/convert", {
    model: "tiny-F32",
    to: "q8_0",
  });
  assert.equal(converted.model, "tiny-Q8_0", JSON.stringify(converted));
  assert.equal(converted.sizeBytes, (await Deno.stat(made)).size);
  const check = await ask("/covey/models/verify", { model: "tiny-Q8_0" });
  assert.equal(check.sound, true);
  const chat = await streamChat(node.url, {
    model: "tiny-Q8_0",
    text: "hello",
    maxTokens: 8,
  });
  assert.equal(chat.status, 200);
  assert.ok(chat.outputTokens > 0);
});

Deno.test({
  name:
    "ConvertedFile gives the metadata and tensors that llama.cpp's own library writes",
  // Without the library of node-llama-cpp for Linux on x86-64 there is nothing to compare with.
  ignore: !hasLibraries(),
  async fn() {
    await using stack = new AsyncDisposableStack();
    const home = await Deno.makeTempDir({ prefix: "covey-convert-" });
    stack.defer(() => Deno.remove(home, { recursive: true }));
    const [original, made, reference] = ["original", "made", "reference"].map(
      (name) => join(home, `${name}.gguf`),
    );
    assert.ok(original && made && reference);
    await Deno.writeFile(original, encodeMixed());
    using file = await ConvertedFile.open(FILES, [original]);
    const bytes = new Uint8Array(file.sizeBytes);
    await file.readInto(0, bytes);
    await Deno.writeFile(made, bytes);
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", join(ROOT, "test/fakes/llama_quantise.ts")],
        ...[LIBRARIES, original, reference],
      ],
      env: { LD_LIBRARY_PATH: LIBRARIES },
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.deepEqual(await contentOf(made), await contentOf(reference));
  },
});
