import assert from "node:assert/strict";
import fc from "fast-check";
import { GgufError } from "../../src/models/gguf_error.ts";
import { readGgufHeader } from "../../src/models/gguf_header.ts";
import type { OpenFile } from "../../src/platform/mod.ts";
import { buildGguf, buildModel } from "../fakes/gguf_builder.ts";

class CountingFile implements Pick<OpenFile, "read"> {
  readonly #content: Uint8Array<ArrayBuffer>;
  readBytes = 0;
  largestRead = 0;

  constructor(content: Uint8Array<ArrayBuffer>) {
    this.#content = content;
  }

  // deno-lint-ignore require-await
  async read(offset: number, length: number) {
    const bytes = this.#content.slice(offset, offset + length);
    this.readBytes += bytes.length;
    this.largestRead = Math.max(this.largestRead, length);
    return bytes;
  }
}

function read(content: Uint8Array<ArrayBuffer>) {
  return readGgufHeader(new CountingFile(content), content.length);
}

function u64(value: bigint): number[] {
  return [...new Uint8Array(new BigUint64Array([value]).buffer)];
}

Deno.test("readGgufHeader keeps the facts of a sound model when versions differ", async () => {
  for (const version of [2, 3]) {
    const content = buildGguf({
      version,
      pairs: [
        // Before the architecture: the order of pairs is the writer's.
        ["qwen3.context_length", { u64: 40_960n }],
        ["qwen3.pooling_type", { u32: 3 }],
        ["general.architecture", { text: "qwen3" }],
        ["general.type", { text: "model" }],
        ["split.count", { u16: 2 }],
      ],
    });
    assert.deepEqual(await read(content), {
      version,
      architecture: "qwen3",
      type: "model",
      contextLength: 40_960,
      poolingType: 3,
      fileType: null,
      splitCount: 2,
      tensorCount: 0,
      shape: null,
    });
  }
});

Deno.test("readGgufHeader keeps what a model's memory is estimated from", async () => {
  const shape = async (pairs: readonly (readonly [string, number])[]) =>
    (await read(buildGguf({
      version: 3,
      pairs: [
        ["general.architecture", { text: "m" }],
        ["m.block_count", { u32: 32 }],
        ["m.embedding_length", { u32: 4096 }],
        ...pairs.map(([key, value]) => [`m.${key}`, { u32: value }] as const),
        ["tokenizer.ggml.tokens", { texts: ["a", "b", "c"] }],
      ],
    }))).shape;
  const known = { layers: 32, width: 4096, vocabulary: 3 };
  // Grouped heads, heads of a width of their own, latent attention, and nothing said.
  const grouped = [
    ["attention.head_count", 32],
    ["attention.head_count_kv", 8],
  ] as const;
  assert.deepEqual(await shape(grouped), { ...known, keptPerToken: 2048 });
  assert.deepEqual(
    await shape([
      ...grouped,
      ["attention.key_length", 256],
      ["attention.value_length", 128],
    ]),
    { ...known, keptPerToken: 3072 },
  );
  assert.deepEqual(
    await shape([
      ...grouped,
      ["attention.kv_lora_rank", 512],
      ["rope.dimension_count", 64],
    ]),
    { ...known, keptPerToken: 576 },
  );
  assert.deepEqual(await shape([]), { ...known, keptPerToken: 8192 });
});

Deno.test("readGgufHeader reads a long vocabulary in small windows", async () => {
  const texts = Array.from({ length: 40_000 }, (_, at) => `token number ${at}`);
  const file = new CountingFile(buildModel([["merges", { texts }]]));
  const sizeBytes = (await file.read(0, 2 ** 30)).length;
  file.readBytes = file.largestRead = 0;
  const header = await readGgufHeader(file, sizeBytes);
  assert.equal(header.contextLength, 2048);
  assert.ok(file.largestRead <= 64 * 1024);
  assert.ok(file.readBytes <= sizeBytes + 64 * 1024);
});

Deno.test("readGgufHeader refuses what GGF-03 lists with a reason", async () => {
  const encoder = new TextEncoder();
  const model = buildModel();
  const start = (version: number[], tensors: bigint, pairs: bigint) => [
    ...encoder.encode("GGUF"),
    ...version,
    ...u64(tensors),
    ...u64(pairs),
  ];
  const v3 = [3, 0, 0, 0];
  const key = [...u64(1n), 0x6b];
  const cases: [string, number[] | Uint8Array, string, RegExp][] = [
    [
      "giant key",
      [...start(v3, 0n, 1n), ...u64(0xffff_ffff_ffffn)],
      "bad_header",
      /longer than/,
    ],
    ["0 bytes", [], "empty", /empty/],
    [
      "LFS pointer",
      encoder.encode("version https://git-lfs.github.com/spec/v1\noid"),
      "pointer",
      /git lfs pull/,
    ],
    ["big-endian", start([0, 0, 0, 3], 0n, 0n), "unsupported", /big-endian/],
    ["version 1", start([1, 0, 0, 0], 0n, 0n), "unsupported", /version 1/],
    ["cut to 50 %", model.slice(0, model.length / 2), "truncated", /truncated/],
    ["one byte short", model.slice(0, -1), "truncated", /bytes, copy or pull/],
    ["magic alone", encoder.encode("GGUF"), "truncated", /inside its header/],
    ["a page", encoder.encode("<!doctype html><p>404"), "not_gguf", /no GGUF/],
    [
      "array of 2^40 bytes",
      [...start(v3, 0n, 1n), ...key, 9, 0, 0, 0, 0, 0, 0, 0, ...u64(2n ** 40n)],
      "truncated",
      /inside/,
    ],
    [
      "array of 2^40 strings",
      [...start(v3, 0n, 1n), ...key, 9, 0, 0, 0, 8, 0, 0, 0, ...u64(2n ** 40n)],
      "truncated",
      /more than the file holds/,
    ],
    ["2^63 tensors", start(v3, 2n ** 63n, 0n), "bad_header", /tensors/],
    ["2^63 pairs", start(v3, 0n, 2n ** 63n), "bad_header", /metadata pairs/],
    ["empty key", [...start(v3, 0n, 1n), ...u64(0n)], "bad_header", /empty/],
    [
      "value of kind 13",
      [...start(v3, 0n, 1n), ...key, 13, 0, 0, 0],
      "bad_header",
      /kind 13/,
    ],
    [
      "nested arrays",
      [
        ...start(v3, 0n, 1n),
        ...key,
        ...[9, 0, 0, 0],
        ...Array.from({ length: 64 }, () => [9, 0, 0, 0, ...u64(1n)]).flat(),
      ],
      "bad_header",
      /nests/,
    ],
    [
      "alignment 0",
      buildModel([["general.alignment", { u32: 0 }]]),
      "bad_header",
      /alignment of 0/,
    ],
    [
      "tensor of 2^64 weights",
      buildGguf({
        pairs: [],
        tensors: [
          { name: "t", dimensions: [2 ** 32, 2 ** 32], type: 0, offset: 0 },
        ],
      }),
      "bad_header",
      /impossible size/,
    ],
  ];
  for (const [name, bytes, problem, reason] of cases) {
    await assert.rejects(read(new Uint8Array(bytes)), (error) => {
      assert.ok(error instanceof GgufError, `${name}: ${error}`);
      assert.equal(error.problem, problem, name);
      assert.match(error.message, reason, name);
      return true;
    });
  }
});

Deno.test("readGgufHeader stops at its cap when zeros go on for ever", async () => {
  const endless = new Uint8Array(16 * 1024 * 1024);
  endless.set(buildGguf({ pairs: [["k", { texts: [] }]] }).slice(0, 41));
  // The array's count: more strings of length 0 than the cap lets pass.
  endless.set(u64(2n ** 34n), 41);
  let largest = 0;
  const file: Pick<OpenFile, "read"> = {
    // deno-lint-ignore require-await
    read: async (offset, length) => {
      largest = Math.max(largest, offset + length);
      return offset === 0 ? endless.slice(0, length) : new Uint8Array(length);
    },
  };
  await assert.rejects(
    readGgufHeader(file, 2 ** 40),
    (error) => error instanceof GgufError && error.problem === "bad_header",
  );
  assert.ok(largest <= 64 * 1024 * 1024 + 64 * 1024);
});

Deno.test("readGgufHeader throws nothing but its own error when a header is mutated", async () => {
  const sound = buildModel([["split.count", { u16: 1 }]]);
  const mutation = fc.record({
    at: fc.nat(sound.length - 1),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 9 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      fc.nat(sound.length),
      async (mutations, length) => {
        const content = sound.slice();
        for (const { at, bytes } of mutations) {
          content.set(bytes.slice(0, content.length - at), at);
        }
        const file = new CountingFile(content.slice(0, length));
        try {
          await readGgufHeader(file, length);
        } catch (error) {
          assert.ok(error instanceof GgufError, String(error));
        }
        assert.ok(file.readBytes <= 4 * sound.length);
        assert.ok(file.largestRead <= 64 * 1024);
      },
    ),
    { numRuns: 500 },
  );
});
