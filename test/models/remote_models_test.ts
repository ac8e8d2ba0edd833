import assert from "node:assert/strict";
import {
  Fault,
  type PieceSource,
  Secret,
  sourceOf,
  streamOf,
} from "../../src/domain/mod.ts";
import { HubHttp } from "../../src/models/pull/hub_http.ts";
import { RemoteModels } from "../../src/models/pull/remote_models.ts";
import {
  boundFetch,
  type Clock,
  createSeededEntropy,
  createSystemClock,
} from "../../src/platform/mod.ts";
import { buildGguf, type GgufValue } from "../fakes/gguf_builder.ts";
import { type HubServer, startHub } from "../fakes/hub_server.ts";

const FOREVER = new AbortController().signal;
const WORDS = Array.from({ length: 20_000 }, (_, at) => `word ${at}`);
const PAIRS: readonly (readonly [string, GgufValue])[] = [
  ["general.architecture", { text: "llama" }],
  ["general.file_type", { u32: 15 }],
  ["llama.context_length", { u32: 8_192 }],
  ["llama.block_count", { u32: 24 }],
  ["llama.embedding_length", { u32: 1_024 }],
  ["llama.attention.head_count", { u32: 16 }],
  ["llama.attention.head_count_kv", { u32: 4 }],
  ["tokenizer.ggml.tokens", { texts: WORDS }],
];

/** A model whose header has 400 kB, of 16 MB. */
const BYTES = gguf(16_000_000);
const Q4 = "m-Q4_K_M.gguf";

function gguf(dataBytes: number, more: typeof PAIRS = []) {
  return buildGguf({
    pairs: [...PAIRS, ...more],
    tensors: [{ name: "t", dimensions: [dataBytes], type: 24, offset: 0 }],
    dataBytes,
  });
}

function looking(hub: HubServer, token?: string) {
  const clock = createSystemClock();
  // Waits between tries are no part of what is tested.
  const hurried: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: () => clock.sleep(0),
    after: (...timer) => clock.after(...timer),
    every: (...timer) => clock.every(...timer),
    deadline: (...timer) => clock.deadline(...timer),
  };
  const came = { bytes: 0 };
  const models = new RemoteModels({
    clock: hurried,
    entropy: createSeededEntropy(1),
    http: new HubHttp({
      clock,
      endpoint: hub.origin,
      token: token === undefined ? null : new Secret(token),
      async fetch(url, init) {
        const response = await boundFetch(url, init);
        if (response.body === null) return response;
        const body = sourceOf(response.body);
        const counted: PieceSource = {
          async read() {
            const piece = await body.read();
            came.bytes += piece?.length ?? 0;
            return piece;
          },
          cancel: (reason) => body.cancel(reason),
        };
        return new Response(streamOf(counted), response);
      },
    }),
  });
  return {
    came,
    models,
    look: (source: string) => models.look({ source }, FOREVER),
  };
}

Deno.test("RemoteModels tells a model by its header alone", async () => {
  await using hub = startHub({
    [Q4]: BYTES,
    "m-Q8_0.gguf": gguf(20_000_000),
    "mmproj-F16.gguf": new Uint8Array(3_000_000),
  });
  const { came, look } = looking(hub);
  const { model, readBytes, sizeBytes } = await look("org/repo:Q4_K_M");
  assert.equal(model.name, "m-Q4_K_M");
  assert.equal(model.contextLength, 8_192);
  assert.deepEqual(model.shape, {
    layers: 24,
    width: 1_024,
    keptPerToken: 512,
    vocabulary: WORDS.length,
  });
  assert.equal(model.sizeBytes, BYTES.length);
  // The vision part would come along.
  assert.equal(sizeBytes, BYTES.length + 3_000_000);
  assert.ok(readBytes > 300_000 && readBytes < 2_000_000, `${readBytes}`);
  // What was on its way when it broke off is little.
  assert.ok(came.bytes < 4_000_000, `${came.bytes}`);
  const ranges = hub.requests.map(({ range }) => range);
  assert.deepEqual(ranges, [null, "bytes=0-67108863"]);
});

Deno.test("RemoteModels copes with a source that knows no ranges, says no length, moves its files, or breaks off", async () => {
  const cases: readonly ((hub: HubServer) => void)[] = [
    (hub) => hub.faults.ignoreRanges = true,
    (hub) => hub.faults.chunked = true,
    (hub) => hub.faults.redirectTo = hub.origin,
    (hub) => hub.faults.shortBodies = { bytes: 100_000, times: 2 },
    (hub) => hub.faults.failing = { status: 503, times: 3 },
  ];
  for (const spoil of cases) {
    await using hub = startHub({ [Q4]: BYTES });
    spoil(hub);
    const { model, readBytes } = await looking(hub).look("org/repo");
    assert.equal(model.shape?.layers, 24);
    assert.ok(readBytes < 4_000_000, `${readBytes}`);
  }
});

Deno.test("RemoteModels takes the URL of a file, whose size the answer must tell", async () => {
  await using hub = startHub({ [Q4]: BYTES });
  const { look } = looking(hub);
  const url = `${hub.origin}/files/${Q4}`;
  assert.equal((await look(url)).sizeBytes, BYTES.length);
  hub.faults.ignoreRanges = true;
  assert.equal((await look(url)).sizeBytes, BYTES.length);
  hub.faults.chunked = true;
  await assert.rejects(look(url), /does not say how large the file is/);
});

Deno.test("RemoteModels adds the parts of a split model up by its first one's header", async () => {
  const first = gguf(1_000, [["split.count", { u16: 2 }]]);
  await using hub = startHub({
    "m-Q4_K_M-00001-of-00002.gguf": first,
    "m-Q4_K_M-00002-of-00002.gguf": new Uint8Array(5_000_000),
  });
  const { model } = await looking(hub).look("org/repo");
  assert.equal(model.name, "m-Q4_K_M");
  assert.equal(model.sizeBytes, first.length + 5_000_000);
});

Deno.test("RemoteModels refuses what is no model, once and for all", async () => {
  const cut = BYTES.slice(0, 9_000_000);
  const cases: readonly (readonly [
    Uint8Array<ArrayBuffer>,
    RegExp,
  ])[] = [
    [new Uint8Array(5_000), /is no GGUF/],
    [cut, /no model that can be used: The file is truncated/],
    [
      new TextEncoder().encode("version https://git-lfs.github.com/spec/v1\n"),
      /Git LFS pointer/,
    ],
  ];
  for (const [bytes, message] of cases) {
    await using hub = startHub({ [Q4]: bytes });
    await assert.rejects(looking(hub).look("org/repo"), message);
    assert.equal(hub.requests.length, 2);
  }
  await using hub = startHub({ [Q4]: BYTES });
  await assert.rejects(
    looking(hub).look("org/repo:Q9"),
    /has no "Q9"; it has Q4_K_M/,
  );
  await assert.rejects(looking(hub).look("org/other"), /no such repository/);
  await assert.rejects(looking(hub).look("nonsense"), /nothing to pull/);
});

Deno.test("RemoteModels gives a source up that breaks off again and again", async () => {
  await using hub = startHub({ [Q4]: BYTES });
  hub.faults.shortBodies = { bytes: 10_000, times: Infinity };
  await assert.rejects(
    looking(hub).look("org/repo"),
    /gives up again and again/,
  );
});

Deno.test("RemoteModels shows the hub's token to the hub alone, and says where one is missing", async () => {
  await using hub = startHub({ [Q4]: BYTES });
  await using store = startHub({ [Q4]: BYTES });
  hub.faults = { token: "secret", redirectTo: store.origin };
  await looking(hub, "secret").look("org/repo");
  assert.deepEqual(store.requests.map((one) => one.authorization), [null]);
  await assert.rejects(looking(hub).look("org/repo"), /set HF_TOKEN/);
});

Deno.test("RemoteModels looks at four models at a time, and ends with its asker", async () => {
  await using hub = startHub({ [Q4]: BYTES });
  const held = Promise.withResolvers<void>();
  hub.faults.beforeRange = () => held.promise;
  const { models } = looking(hub);
  const asker = new AbortController();
  const looks = Array.from(
    { length: 4 },
    () => models.look({ source: "org/repo" }, asker.signal),
  );
  await assert.rejects(
    models.look({ source: "org/repo" }, FOREVER),
    (error) => error instanceof Fault && error.code === "queue_full",
  );
  asker.abort(new Error("The asker left"));
  const ends = await Promise.allSettled(looks);
  held.resolve();
  assert.ok(ends.every(({ status }) => status === "rejected"));
  hub.faults.beforeRange = () => {};
  await models.look({ source: "org/repo" }, FOREVER);
});
