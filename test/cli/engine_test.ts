import assert from "node:assert/strict";
import { engineCommand, type LocalPacks } from "../../src/cli/engine.ts";
import { type ApiReply, runCli } from "../../src/cli/mod.ts";
import { Fault, type JsonValue, type PackView } from "../../src/domain/mod.ts";
import { createFakeContext } from "./fake_context.ts";

const VULKAN: PackView = {
  name: "vulkan",
  cards: "most cards",
  state: "available",
  sizeBytes: 27e6,
};
const CUDA: PackView = { ...VULKAN, name: "cuda", state: "installed" };
const FROM_ANNA: ApiReply = {
  kind: "answered",
  body: { ...VULKAN, status: "success", state: "installed", from: "anna" },
};

/** Packs of a machine whose registry answers, or says why not. */
async function run(
  args: readonly string[],
  registry: Fault | null,
  replies: Readonly<Record<string, ApiReply>> = {},
) {
  const context = createFakeContext(replies);
  const asked: string[] = [];
  const packs: LocalPacks = {
    list: () => Promise.resolve([VULKAN, CUDA]),
    add(name) {
      asked.push(name);
      return registry === null
        ? Promise.resolve({ ...VULKAN, state: "installed" })
        : Promise.reject(registry);
    },
    remove: () => Promise.resolve(),
  };
  const hosted: string[][] = [];
  const command = engineCommand(
    () => Promise.resolve(packs),
    (flags) => {
      hosted.push([...flags]);
      return Promise.resolve(0);
    },
  );
  const code = await runCli([command], ["engine", ...args], context);
  const { err, out, sent } = context;
  return {
    code,
    asked,
    hosted,
    sent,
    out: out.join("\n"),
    err: err.join("\n"),
  };
}

const UNREACHABLE = new Fault("hub_failed", "No registry answers");

Deno.test("engine list names the registry and the members that have a pack", async () => {
  const body: JsonValue = {
    packs: [{ ...VULKAN, members: ["anna", "b\u001b[2J"] }],
  };
  const listed = await run(["list"], null, {
    "/covey/packs": { kind: "answered", body },
  });
  assert.equal(listed.code, 0);
  assert.match(listed.out, /vulkan +available +27 MB +npm, anna, b\\u001b/);
  const alone = await run(["list"], null);
  assert.match(alone.out, /vulkan +available +27 MB +npm +most cards/);
  const json = await run(["list", "--json"], null);
  assert.deepEqual(JSON.parse(json.out), {
    packs: [{ ...VULKAN, members: [] }, { ...CUDA, members: [] }],
  });
});

Deno.test("engine remove does not claim to have removed what was not here", async () => {
  const { code, out } = await run(["remove", "cuda"], null);
  assert.deepEqual([code, out.split(":")[0]], [0, "Removed cuda"]);
  const none = await run(["remove", "vulkan"], null);
  assert.deepEqual([none.code, none.out], [0, "vulkan is not installed here"]);
});

Deno.test("engine add asks no member where the registry answers", async () => {
  const { asked, code, out, sent } = await run(["add", "vulkan"], null);
  assert.equal(code, 0);
  assert.match(out, /^Added vulkan: the next model/);
  assert.deepEqual([asked, sent], [["vulkan"], []]);
});

Deno.test("engine add asks the members where the registry does not answer", async () => {
  const { code, out, sent } = await run(["add", "vulkan"], UNREACHABLE, {
    "POST /covey/packs/vulkan": FROM_ANNA,
  });
  assert.equal(code, 0);
  assert.match(out, /^Added vulkan from anna/);
  assert.deepEqual(sent, [{ path: "POST /covey/packs/vulkan", body: {} }]);
});

Deno.test("engine add says what the registry and what the node said", async () => {
  const silent = await run(["add", "vulkan"], UNREACHABLE);
  assert.equal(silent.code, 1);
  assert.match(
    silent.err,
    /No registry answers\. Failed to ask the members: No node answers/,
  );
  const refused = await run(["add", "vulkan"], UNREACHABLE, {
    "POST /covey/packs/vulkan": {
      kind: "refused",
      status: 404,
      message: "No member has it",
      body: {},
    },
  });
  assert.match(refused.err, /No registry answers\. No member has it/);
  // What is no matter of the registry is none of the members' either.
  const wrong = new Fault("invalid_request", "There is no such pack");
  const other = await run(["add", "rocm"], wrong);
  assert.deepEqual([other.err, other.sent], ["There is no such pack", []]);
});

Deno.test("engine add --from asks that member alone", async () => {
  const { asked, code, sent } = await run(
    ["add", "vulkan", "--from", "anna"],
    null,
    { "POST /covey/packs/vulkan": FROM_ANNA },
  );
  assert.equal(code, 0);
  assert.deepEqual(asked, []);
  assert.deepEqual(sent, [{
    path: "POST /covey/packs/vulkan",
    body: { from: "anna" },
  }]);
});

Deno.test("engine refuses what makes no sense", async () => {
  for (
    const args of [
      [],
      ["add"],
      ["add", "a", "b"],
      ["list", "a"],
      ["list", "--from", "anna"],
      ["add", "vulkan", "--from"],
      ["add", "vulkan", "--fast"],
      ["--fast"],
      ["--json"],
    ]
  ) {
    const { asked, code, hosted } = await run(args, null);
    assert.deepEqual([code, asked, hosted], [2, [], []], args.join(" "));
  }
});

Deno.test("engine reads its flags in any place, and is the engine process with those of the node alone", async () => {
  const { code, sent } = await run(["--from=anna", "add", "vulkan"], null, {
    "POST /covey/packs/vulkan": FROM_ANNA,
  });
  assert.deepEqual([code, sent[0]?.body], [0, { from: "anna" }]);
  for (const flags of [["--model", "m.gguf"], ["--server", "llama-server"]]) {
    assert.deepEqual((await run(flags, null)).hosted, [flags]);
  }
});
