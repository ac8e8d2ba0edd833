import assert from "node:assert/strict";
import {
  CHUNK_BYTES,
  type Cluster,
  type Derivation,
  isJsonObject,
  type JsonObject,
  type MadeWeights,
  type ModelManifest,
} from "@covey/core/domain";
import { createSeededEntropy, MemoryFiles } from "@covey/core/platform";
import { FakeLan, TestNode } from "../cluster_fixture.ts";
import { MemoryShelf, MODELS } from "./memory_shelf.ts";

const SIGNAL = new AbortController().signal;
const ORIGINAL = createSeededEntropy(1).bytes(CHUNK_BYTES);
const MADE = createSeededEntropy(2).bytes(5 * CHUNK_BYTES - 1000);

/** A shelf on which "m-Q8_0" is made from "m", by whoever has that. */
class DerivingShelf extends MemoryShelf {
  readonly #tookMs: number;
  readonly #content: Uint8Array<ArrayBuffer>;
  /** Bytes that were made here. */
  madeBytes = 0;

  constructor(
    files: MemoryFiles,
    tookMs: number,
    content: Uint8Array<ArrayBuffer>,
  ) {
    super(files);
    this.#tookMs = tookMs;
    this.#content = content;
  }

  override async manifest(model: string): Promise<ModelManifest | null> {
    const manifest = await super.manifest(model);
    const from = (await super.manifest("m"))?.root;
    if (manifest === null || model === "m" || from === undefined) {
      return manifest;
    }
    const derived = { from, recipe: "r", tookMs: this.#tookMs };
    const origin = { path: null, revision: null, etag: null, sha256: null };
    return {
      ...manifest,
      files: manifest.files.map((file) => ({
        ...file,
        origin: { source: "m", ...origin, derived },
      })),
    };
  }

  remake({ from }: Derivation): Promise<MadeWeights | null> {
    const original = this.list().find(({ root }) => root === from)?.name;
    return Promise.resolve(
      original === undefined ? null : {
        original,
        sizeBytes: this.#content.length,
        readInto: async (offset, room) => {
          await Promise.resolve();
          const bytes = this.#content.subarray(offset, offset + room.length);
          room.set(bytes);
          this.madeBytes += bytes.length;
          return bytes.length;
        },
        [Symbol.dispose]() {},
      },
    );
  }
}

/**
 * Two members that have "m", the first of which has "m-Q8_0" as well and is
 * asked for it by the other: one chunk comes, and then the clock of the one
 * that receives is two seconds on and nothing comes until the test says so.
 */
async function setUp(
  { content = MADE, hasOriginal = true, tookMs }: {
    /** What comes out where it is made again. */
    readonly content?: Uint8Array<ArrayBuffer>;
    readonly hasOriginal?: boolean;
    readonly tookMs: number;
  },
) {
  const lan = new FakeLan();
  const original = { [`${MODELS}/m.gguf`]: ORIGINAL };
  const one = new DerivingShelf(
    new MemoryFiles({ ...original, [`${MODELS}/m-Q8_0.gguf`]: MADE }),
    tookMs,
    MADE,
  );
  const files = new MemoryFiles(hasOriginal ? original : {});
  const two = new DerivingShelf(files, tookMs, content);
  await one.refresh();
  await two.refresh();
  const opened = Promise.withResolvers<void>();
  let movedOnMs = 0;
  let reads = 0;
  const readChunk = one.readChunk.bind(one);
  one.readChunk = async (...place) => {
    if (++reads > 1) {
      movedOnMs = 2_000;
      await opened.promise;
    }
    return await readChunk(...place);
  };
  const stack = new AsyncDisposableStack();
  const source = new TestNode(1, lan, { models: one });
  const node = new TestNode(2, lan, {
    files,
    models: two,
    movedOnMs: () => movedOnMs,
  });
  const first = stack.use(await source.cluster);
  stack.use(await node.cluster);
  // What waits there must not outlive the test.
  stack.defer(() => opened.resolve());
  await source.log.until("A member is healthy");
  await node.log.until("A member is healthy");
  await first.act("copy", { model: "m-Q8_0", to: ["node-2"] }, SIGNAL);
  return {
    node,
    shelf: two,
    /** Let everything come. */
    open: () => opened.resolve(),
    copy: () => copyOf(first),
    async arrived() {
      const path = two.list().find(({ name }) => name === "m-Q8_0")?.path;
      return await files.readBytes(path ?? "");
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function copyOf(cluster: Cluster): Promise<JsonObject> {
  for (;;) {
    const answer = await cluster.act("copies", {}, SIGNAL);
    assert.ok(isJsonObject(answer) && Array.isArray(answer.copies));
    // One that answers late is left out of a list.
    const [copy] = answer.copies.filter(isJsonObject);
    if (copy !== undefined) return copy;
  }
}

Deno.test("a derived model is made from its original where the link is slow", async () => {
  await using setup = await setUp({ tookMs: 1 });
  const { arrived, copy, node, shelf } = setup;
  await node.log.until("A model was copied");
  assert.deepEqual(await arrived(), MADE);
  const { message, sources, state } = await copy();
  assert.equal(state, "done");
  assert.match(
    String(message),
    /^Made here from "m": copying takes .*, making/,
  );
  assert.deepEqual(sources, ["node-1"]);
  // All but what had come by then.
  assert.ok(shelf.madeBytes >= MADE.length - CHUNK_BYTES);
});

Deno.test("a derived model is copied where the link is fast, and where its original is not here", async () => {
  {
    await using setup = await setUp({ tookMs: 1e9 });
    const { arrived, copy, node, open, shelf } = setup;
    let message = "";
    while (!/^Copied and not made/.test(message)) {
      message = String((await copy()).message);
    }
    open();
    await node.log.until("A model was copied");
    assert.deepEqual(await arrived(), MADE);
    assert.equal(shelf.madeBytes, 0);
  }
  await using setup = await setUp({ tookMs: 1, hasOriginal: false });
  const { arrived, copy, node, open, shelf } = setup;
  open();
  await node.log.until("A model was copied");
  assert.deepEqual(await arrived(), MADE);
  assert.deepEqual([shelf.madeBytes, (await copy()).message], [0, null]);
});

Deno.test("a derived model is copied after all where what is made has other bytes", async () => {
  const content = MADE.map((byte) => byte ^ 1);
  await using setup = await setUp({ tookMs: 1, content });
  const { arrived, copy, node, open, shelf } = setup;
  await node.log.until("A model is copied that might have been made here");
  open();
  await node.log.until("A model was copied");
  assert.deepEqual(await arrived(), MADE);
  assert.match(
    String((await copy()).message),
    /^Copied and not made here from "m": what was made has other bytes$/,
  );
  // No more than was on its way was made in vain.
  assert.ok(shelf.madeBytes <= 2 * CHUNK_BYTES);
});
