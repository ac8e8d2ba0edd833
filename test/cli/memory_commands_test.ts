import assert from "node:assert/strict";
import { type ApiReply, COMMANDS, runCli } from "../../src/cli/mod.ts";
import type { JsonValue } from "../../src/domain/mod.ts";
import { createFakeContext } from "./fake_context.ts";

const answered = (body: JsonValue): ApiReply => ({ kind: "answered", body });

async function run(
  args: readonly string[],
  replies: Readonly<Record<string, ApiReply>>,
) {
  const context = createFakeContext(replies);
  const code = await runCli(COMMANDS, args, context);
  const { err, out, sent } = context;
  return { code, out: out.join("\n"), err: err.join("\n"), sent };
}

const ROW = {
  node: "id-of-ada",
  nodeName: "ada",
  engine: "embedded",
  model: "m",
  state: "warm",
  progress: null,
  remainingMs: null,
  reason: null,
  retryInMs: null,
  sizeBytes: 5e9,
  memoryBytes: 6.2e9,
  contextLength: 8192,
  expiresInMs: 240_000,
  pinned: false,
  inUse: false,
};

Deno.test("ps prints what is in memory, how long it stays, and how far loads are", async () => {
  const models = [
    ROW,
    { ...ROW, model: "pin\u001b[2J", pinned: true, expiresInMs: null },
    { ...ROW, model: "busy", inUse: true, expiresInMs: null },
    { ...ROW, model: "always", expiresInMs: null, memoryBytes: 4.2e6 },
    {
      ...ROW,
      model: "new",
      state: "loading",
      progress: 0.42,
      remainingMs: 9e3,
    },
    {
      ...ROW,
      model: "bad",
      state: "failed",
      reason: "it is no GGUF",
      retryInMs: 4e3,
    },
    {
      ...ROW,
      model: "far",
      engine: "box",
      memoryBytes: null,
      pinned: null,
      inUse: null,
      expiresInMs: null,
    },
  ];
  const { code, out } = await run(["ps"], {
    "/covey/memory": answered({ models }),
  });
  assert.equal(code, 0);
  assert.deepEqual(out.split("\n"), [
    "MODEL         NODE  ENGINE    MEMORY  CONTEXT  STATE                                LEAVES",
    "m             ada   embedded  6.2 GB     8192  warm                                 in 4 min",
    "pin\\u001b[2J  ada   embedded  6.2 GB     8192  warm                                 pinned",
    "busy          ada   embedded  6.2 GB     8192  in use",
    "always        ada   embedded  4.2 MB     8192  warm                                 never",
    "new           ada   embedded  6.2 GB     8192  loading 42 %, about 9 s",
    "bad           ada   embedded  6.2 GB     8192  failed: it is no GGUF, again in 4 s",
    "far           ada   box            ?     8192  warm",
  ]);
  const none = { "/covey/memory": answered({ models: [] }) };
  assert.equal((await run(["ps"], none)).out, "No model is in memory");
});

Deno.test("fit prints needs against memory for every member", async () => {
  const row = {
    node: "id-of-ada",
    nodeName: "ada",
    engine: "embedded",
    weightsBytes: 5e9,
    cacheBytes: 2e9,
    computeBytes: 4e8,
    neededBytes: 7.4e9,
    freeBytes: 12e9,
    totalBytes: 16e9,
    contextLength: 8192,
    slots: 2,
    verdict: "fits",
    reason: null,
  };
  const nodes = [
    row,
    {
      ...row,
      node: "id-of-pi",
      nodeName: "pi",
      engine: null,
      freeBytes: 1e9,
      totalBytes: 4e9,
      verdict: "too_large",
      reason: "It does not have the model",
    },
  ];
  const { code, out } = await run(["fit", "org/m"], {
    "/covey/fit/org%2Fm": answered({ model: "org/m", nodes }),
  });
  assert.equal(code, 0);
  assert.deepEqual(out.split("\n"), [
    "NODE  ENGINE     NEEDS  WEIGHTS + CONTEXT + BUFFERS  CONTEXT   FREE                VERDICT",
    "ada   embedded  7.4 GB  5.0 GB + 2.0 GB + 0.4 GB     2 × 8192  12.0 GB of 16.0 GB  fits",
    "pi    -         7.4 GB  5.0 GB + 2.0 GB + 0.4 GB     2 × 8192  1.0 GB of 4.0 GB    too large for this machine: It does not have the model",
  ]);
});

Deno.test("ps and fit tell of cards where some member has one", async () => {
  const memory = await run(["ps"], {
    "/covey/memory": answered({
      models: [{ ...ROW, cardBytes: 5.8e9 }, { ...ROW, cardBytes: null }],
    }),
  });
  assert.deepEqual(memory.out.split("\n"), [
    "MODEL  NODE  ENGINE    MEMORY  CONTEXT  ON CARDS  STATE  LEAVES",
    "m      ada   embedded  6.2 GB     8192    5.8 GB  warm   in 4 min",
    "m      ada   embedded  6.2 GB     8192         ?  warm   in 4 min",
  ]);
  const node = {
    node: "id-of-ada",
    nodeName: "ada",
    engine: "embedded",
    weightsBytes: 5e9,
    cacheBytes: 2e9,
    computeBytes: 4e8,
    neededBytes: 7.4e9,
    freeBytes: 12e9,
    totalBytes: 16e9,
    contextLength: 8192,
    slots: 2,
    verdict: "fits",
    reason: null,
  };
  const cards = {
    cardBytes: 7.4e9,
    cardFreeBytes: 20e9,
    cardTotalBytes: 24e9,
  };
  const fit = await run(["fit", "m"], {
    "/covey/fit/m": answered({
      model: "m",
      nodes: [{ ...node, ...cards }, {
        ...node,
        node: "id-of-pi",
        nodeName: "pi",
      }],
    }),
  });
  assert.match(fit.out, /FREE +ON CARDS +VERDICT/);
  assert.match(
    fit.out,
    /12\.0 GB of 16\.0 GB +7\.4 GB, 20\.0 GB of 24\.0 GB free +fits/,
  );
});

Deno.test("fit asks the source of a model that no member has, and says what would be pulled", async () => {
  const missing: ApiReply = {
    kind: "refused",
    status: 404,
    message: "No model is called so",
    body: {},
  };
  const node = {
    node: "id-of-ada",
    nodeName: "ada",
    engine: null,
    weightsBytes: 40e9,
    cacheBytes: 2e9,
    computeBytes: 4e8,
    neededBytes: 42.4e9,
    freeBytes: 12e9,
    totalBytes: 64e9,
    contextLength: 8192,
    slots: 2,
    verdict: "no_disk",
    reason: "It has 5.0 GB of disk left, and 40.0 GB would come",
  };
  const source = "org/m:Q4_K_M";
  const path = `/covey/fit/${encodeURIComponent(source)}`;
  const replies = {
    [path]: missing,
    "POST /covey/fit": answered({
      model: "m-Q4_K_M",
      sizeBytes: 40e9,
      readBytes: 6e6,
      nodes: [node],
    }),
  };
  const { code, out, sent } = await run(["fit", source], replies);
  assert.equal(code, 0);
  assert.deepEqual(sent, [{ path: "POST /covey/fit", body: { source } }]);
  assert.deepEqual(out.split("\n"), [
    "m-Q4_K_M is not here: 40.0 GB would be pulled, told by the first 6.0 MB of it",
    "NODE  ENGINE    NEEDS  WEIGHTS + CONTEXT + BUFFERS  CONTEXT   FREE                VERDICT",
    "ada   -       42.4 GB  40.0 GB + 2.0 GB + 0.4 GB    2 × 8192  12.0 GB of 64.0 GB  no room on the disk: It has 5.0 GB of disk left, and 40.0 GB would come",
  ]);
  // A name without a slash is no source, and what can be none is a wrong name.
  const plain = await run(["fit", "m"], { "/covey/fit/m": missing });
  assert.deepEqual([plain.code, plain.sent], [1, []]);
  assert.match(plain.err, /No model is called so/);
  const odd = await run(["fit", source], {
    [path]: missing,
    "POST /covey/fit": { ...missing, status: 400, message: "No source" },
  });
  assert.match(odd.err, /No model is called so/);
  const gone = await run(["fit", source], {
    [path]: missing,
    "POST /covey/fit": { ...missing, message: "The hub has no such file" },
  });
  assert.match(gone.err, /The hub has no such file/);
});

Deno.test("ps, fit and unload tell two nodes of one name apart", async () => {
  const rows = ["6b0a1c2e-0000", "7c1b2d3f-0000"].map((node) => ({
    ...ROW,
    node,
    nodeName: "pi",
  }));
  const ps = await run(["ps"], { "/covey/memory": answered({ models: rows }) });
  assert.match(ps.out, /^m +pi~6b0a1c2e +embedded.*\nm +pi~7c1b2d3f +/m);
  const outcomes = rows.map((one) => ({ ...one, unloaded: true }));
  const unloaded = await run(["unload", "m"], {
    "POST /covey/models/m/unload": answered({ model: "m", outcomes }),
  });
  assert.equal(
    unloaded.out,
    "Unloaded m on pi~6b0a1c2e\nUnloaded m on pi~7c1b2d3f",
  );
});

Deno.test("unload says what came of it, and fails where a model stayed", async () => {
  const outcome = (
    nodeName: string,
    unloaded: boolean,
    reason: string | null,
  ) => ({
    node: `id-of-${nodeName}`,
    nodeName,
    engine: "embedded",
    unloaded,
    reason,
  });
  const path = "POST /covey/models/org%2Fm/unload";
  const gone = await run(["unload", "org/m", "--node", "pi"], {
    [path]: answered({ model: "org/m", outcomes: [outcome("pi", true, null)] }),
  });
  assert.deepEqual([gone.code, gone.out], [0, "Unloaded org/m on pi"]);
  assert.deepEqual(gone.sent, [{ path, body: { node: "pi" } }]);
  const stayed = await run(["stop", "org/m"], {
    [path]: answered({
      model: "org/m",
      outcomes: [outcome("pi", true, null), outcome("ada", false, "in use")],
    }),
  });
  assert.equal(stayed.code, 1);
  assert.equal(
    stayed.out,
    "Unloaded org/m on pi\norg/m stays in memory on ada: in use",
  );
  const nowhere = await run(["unload", "org/m"], {
    [path]: answered({ model: "org/m", outcomes: [] }),
  });
  assert.deepEqual([nowhere.code, nowhere.out], [0, "org/m is in no memory"]);
  assert.equal((await run(["unload", "m", "--node"], {})).code, 2);
  assert.equal((await run(["unload"], {})).code, 2);
});
