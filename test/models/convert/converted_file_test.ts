import assert from "node:assert/strict";
import fc from "fast-check";
import { buildTinyVocabulary } from "../../../scripts/fixtures/covey_tiny_vocabulary.ts";
import { chatTensors } from "../../../scripts/fixtures/covey_tiny_weights.ts";
import { header } from "../../../scripts/fixtures/covey_tiny.ts";
import {
  encodeGguf,
  type GgufTensor,
  type GgufValue,
} from "../../../scripts/fixtures/gguf_writer.ts";
import { Fault } from "../../../src/domain/mod.ts";
import { ConvertedFile } from "../../../src/models/convert/converted_file.ts";
import {
  type GgufLayout,
  readGgufLayout,
} from "../../../src/models/convert/gguf_layout.ts";
import { MemoryFiles } from "../../../src/platform/mod.ts";

const REPLACED =
  /^(general\.(quantization_version|file_type)|split\.(no|count|tensors\.count))$/;
const METADATA = header("covey-tiny", [
  ["tokenizer.chat_template", { type: "string", value: "{{ messages }}" }],
]);

function tinyTensors(type: "f16" | "bf16"): readonly GgufTensor[] {
  return chatTensors(buildTinyVocabulary(), 1).map((tensor) =>
    tensor.shape.length > 1 ? { ...tensor, type } : tensor
  );
}

async function convert(...parts: readonly Uint8Array<ArrayBuffer>[]) {
  const paths = parts.map((_, at) => `/m-${at}.gguf`);
  const files = new MemoryFiles(
    Object.fromEntries(parts.map((bytes, at) => [paths[at] ?? "", bytes])),
  );
  using made = await ConvertedFile.open(files, paths);
  const bytes = new Uint8Array(made.sizeBytes);
  assert.equal(await made.readInto(0, bytes), bytes.length);
  return bytes;
}

async function layoutOf(bytes: Uint8Array<ArrayBuffer>): Promise<GgufLayout> {
  using file = await new MemoryFiles({ "/m": bytes }).open("/m");
  return await readGgufLayout(file, bytes.length);
}

Deno.test("ConvertedFile keeps metadata, names and small tensors, and says what it is", async () => {
  const original = encodeGguf({
    metadata: METADATA,
    tensors: tinyTensors("f16"),
  });
  const made = await convert(original);
  const [before, after] = [await layoutOf(original), await layoutOf(made)];
  assert.equal(after.header.fileType, 7);
  assert.deepEqual(
    { ...after.header, fileType: before.header.fileType },
    before.header,
  );
  const pairs = (bytes: Uint8Array, { pairs }: GgufLayout) =>
    pairs.filter(({ key }) => !REPLACED.test(key))
      .map(({ end, key, start }) => [key, bytes.slice(start, end)]);
  assert.deepEqual(pairs(made, after), pairs(original, before));
  const shapes = ({ tensors }: GgufLayout) =>
    tensors.map(({ dimensions, name }) => ({ name, dimensions }));
  assert.deepEqual(shapes(after), shapes(before));
  for (
    const [at, { dimensions, sizeBytes, start, type }] of after.tensors
      .entries()
  ) {
    const from = before.tensors[at];
    assert.ok(from !== undefined);
    assert.equal(start % after.alignment, 0);
    if (dimensions.length > 1) {
      assert.equal(type, 8);
      continue;
    }
    assert.equal(type, from.type);
    assert.deepEqual(
      made.slice(start, start + (sizeBytes ?? 0)),
      original.slice(from.start, from.start + (from.sizeBytes ?? 0)),
    );
  }
});

Deno.test("ConvertedFile gives the same bytes in whatever ranges it is read", async () => {
  const original = encodeGguf({
    metadata: METADATA,
    tensors: tinyTensors("bf16"),
  });
  const whole = await convert(original);
  const files = new MemoryFiles({ "/m": original });
  using made = await ConvertedFile.open(files, ["/m"]);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(whole.length + 10),
      fc.nat(3_000),
      async (offset, length) => {
        const room = new Uint8Array(length).fill(0xaa);
        const count = await made.readInto(offset, room);
        assert.deepEqual(
          room.subarray(0, count),
          whole.subarray(offset, offset + length),
        );
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("ConvertedFile reads a split model as it does the whole one", async () => {
  const tensors = tinyTensors("f16");
  const u32 = (value: number): GgufValue => ({ type: "uint32", value });
  const split = (no: number): readonly (readonly [string, GgufValue])[] => [
    ["split.no", u32(no)],
    ["split.count", u32(2)],
    ["split.tensors.count", u32(tensors.length)],
  ];
  const made = await convert(
    encodeGguf({
      metadata: [...METADATA, ...split(0)],
      tensors: tensors.slice(0, 5),
    }),
    encodeGguf({ metadata: split(1), tensors: tensors.slice(5) }),
  );
  assert.deepEqual(
    made,
    await convert(encodeGguf({ metadata: METADATA, tensors })),
  );
});

Deno.test("ConvertedFile says why a model can not be converted", async () => {
  const tensors = tinyTensors("f16");
  const whole = encodeGguf({ metadata: METADATA, tensors });
  const faultOf = (message: RegExp) => (error: unknown) =>
    error instanceof Fault && error.code === "invalid_request" &&
    message.test(error.message);
  await assert.rejects(
    async () => await convert(await convert(whole)),
    faultOf(/quantised already, as Q8_0: convert the one with F16/),
  );
  await assert.rejects(
    convert(encodeGguf({
      metadata: METADATA,
      tensors: tensors.filter(({ shape }) => shape.length === 1),
    })),
    faultOf(/no matrix of floats/),
  );
  const [table] = chatTensors(buildTinyVocabulary(), 1);
  assert.ok(table !== undefined);
  table.data[1000] = NaN;
  await assert.rejects(
    convert(encodeGguf({ metadata: METADATA, tensors: [table] })),
    faultOf(/weights that are no numbers/),
  );
});

Deno.test("ConvertedFile leaves what llama.cpp leaves, and rows that are no whole blocks", async () => {
  const matrix = (name: string, columns: number): GgufTensor => ({
    name,
    shape: [columns, 2],
    data: new Float32Array(columns * 2).fill(1),
  });
  const tensors = [
    matrix("blk.0.attn_q.weight", 64),
    matrix("blk.0.ffn_gate_inp.weight", 64),
    matrix("position_embd.weight", 64),
    matrix("blk.0.attn_k_norm.weight", 64),
    matrix("blk.0.attn_q.bias", 64),
    matrix("blk.0.ffn_up.weight", 48),
  ];
  const made = await layoutOf(
    await convert(encodeGguf({ metadata: METADATA, tensors })),
  );
  assert.deepEqual(made.tensors.map(({ type }) => type), [8, 0, 0, 0, 0, 0]);
});
