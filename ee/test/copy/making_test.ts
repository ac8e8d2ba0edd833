import assert from "node:assert/strict";
import type {
  Derivation,
  MadeWeights,
  ModelManifest,
} from "@covey/core/domain";
import { ManualClock } from "@covey/core/platform";
import type { Chunk } from "../../src/copy/chunk_plan.ts";
import type { ChunkSource } from "../../src/copy/gather.ts";
import { Making } from "../../src/copy/making.ts";

const CHUNK = 1_000_000;
const SIZE = 100 * CHUNK;
const SIGNAL = new AbortController().signal;
const DERIVATION: Derivation = {
  from: "ab".repeat(32),
  recipe: "gguf q8_0 1",
  tookMs: 10_000,
};

function chunkAt(index: number): Chunk {
  const offset = index * CHUNK;
  const digest = "00".repeat(32);
  return { index, file: 0, position: index, offset, length: CHUNK, digest };
}

async function setUp(change: Partial<MadeWeights> = {}, files = 1) {
  const clock = new ManualClock();
  const failures: string[] = [];
  const offered = new Map<string, ChunkSource>();
  const state = { chunkMs: 100, isDisposed: false };
  const weights: MadeWeights = {
    original: "m-F16",
    sizeBytes: SIZE,
    async readInto(_offset, room) {
      await clock.advance(state.chunkMs);
      return room.length;
    },
    [Symbol.dispose]: () => {
      state.isDisposed = true;
    },
    ...change,
  };
  const origin = { path: null, revision: null, etag: null, sha256: null };
  const derived = { source: "m-F16", ...origin, derived: DERIVATION };
  const manifest: ModelManifest = {
    model: "m-Q8_0",
    root: "cd".repeat(32),
    files: Array.from({ length: files }, (_, at) => ({
      name: `${at}`,
      sizeBytes: SIZE,
      sha256: "",
      chunks: [],
      ...at === 0 ? { origin: derived } : {},
    })),
    architecture: "llama",
    contextLength: 1,
    quantisation: "Q8_0",
  };
  const asked: Derivation[] = [];
  const making = await Making.open(manifest, {
    clock,
    shelf: {
      remake(derivation) {
        asked.push(derivation);
        return Promise.resolve(weights);
      },
    },
    onFailure: (reason) => failures.push(reason),
  });
  const gather = {
    offer: (source: ChunkSource) => void offered.set(source.name, source),
    drop: (name: string) => void offered.delete(name),
  };
  const look = () => making?.look(gather, ["pc"]);
  /** A member gives so many bytes, and then so long nothing. */
  const arrive = async (bytes: number, afterMs: number) => {
    const member = making?.watched({
      name: "pc",
      has: () => true,
      fetch(_chunk, _into, _signal, arrived) {
        arrived(bytes / 2);
        arrived(bytes);
        return Promise.resolve(bytes);
      },
    });
    await member?.fetch(chunkAt(0), new Uint8Array(), SIGNAL, () => {});
    await clock.advance(afterMs);
  };
  const make = async (count: number) => {
    const source = making === null ? undefined : offered.get(making.name);
    assert.ok(source !== undefined);
    for (let at = 0; at < count; at++) {
      const into = new Uint8Array(CHUNK);
      await source.fetch(chunkAt(at), into, SIGNAL, () => {});
    }
  };
  offered.set("pc", { name: "pc", has: () => true, fetch: () => never() });
  return {
    arrive,
    asked,
    clock,
    failures,
    gather,
    look,
    make,
    making,
    offered,
    state,
  };
}

function never(): Promise<number> {
  return Promise.reject(new Error("Nobody asks"));
}

Deno.test("Making copies over a link that is seen to be faster than making, and says so", async () => {
  const { arrive, asked, look, making, offered } = await setUp();
  assert.deepEqual(asked, [DERIVATION]);
  await arrive(CHUNK, 500);
  look();
  assert.equal(making?.note, null);
  await arrive(19 * CHUNK, 500);
  look();
  assert.deepEqual([...offered.keys()], ["pc"]);
  assert.equal(
    making?.note,
    'Copied and not made here from "m-F16": copying takes 5.0 s by what its link carries, making 10 s',
  );
});

Deno.test("Making makes what the link is seen to bring later, at any time of a copy", async () => {
  const { arrive, look, making, offered } = await setUp();
  await arrive(20 * CHUNK, 1_000);
  look();
  assert.ok(making?.isMaking === false && making.needsMembers);
  // For a while hardly anything comes.
  for (let at = 0; at < 16; at++) {
    await arrive(CHUNK / 10, 1_000);
    look();
  }
  assert.ok(making.isMaking && !making.needsMembers);
  assert.deepEqual([...offered.keys()], [making.name]);
  assert.match(
    making.note ?? "",
    /^Made here from "m-F16": copying takes \d+ s .*, making 10 s$/,
  );
});

Deno.test("Making makes a model that nobody gives", async () => {
  const { clock, look, making } = await setUp();
  await clock.advance(4_999);
  look();
  assert.ok(!making?.isMaking);
  await clock.advance(1);
  look();
  assert.ok(making?.isMaking);
  assert.match(making.note ?? "", /nothing comes over the link, making 10 s/);
});

Deno.test("Making goes back to copying for good where this machine is seen to be slower than the link", async () => {
  const { arrive, failures, look, make, making, offered, state } =
    await setUp();
  await arrive(5 * CHUNK, 1_000);
  look();
  assert.ok(making?.isMaking);
  // As fast as the machine that made it: 100 chunks take 10 s.
  await make(2);
  look();
  assert.ok(making.isMaking);
  state.chunkMs = 1_000;
  await make(4);
  look();
  assert.ok(!making.isMaking && making.needsMembers);
  assert.ok(!offered.has(making.name));
  const why = "copying takes 20 s by what its link carries, making 70 s";
  assert.equal(
    making.note,
    `Copied and not made here from "m-F16": ${why}`,
  );
  assert.deepEqual(failures, [why]);
  await arrive(CHUNK / 10, 30_000);
  look();
  assert.ok(!making.isMaking);
});

Deno.test("Making copies what came out with other bytes, or can not be made after all", async () => {
  {
    const { arrive, failures, gather, look, making, offered } = await setUp();
    await arrive(CHUNK, 2_000);
    look();
    assert.ok(making?.isMaking);
    assert.ok(!making.takeBad("pc", gather));
    assert.ok(making.isMaking);
    assert.ok(making.takeBad(making.name, gather));
    assert.ok(making.needsMembers && !offered.has(making.name));
    assert.deepEqual(failures, ["what was made has other bytes"]);
  }
  const { arrive, look, make, making, offered } = await setUp({
    readInto: () => Promise.reject(new Error("The original changed")),
  });
  await arrive(CHUNK, 2_000);
  look();
  await assert.rejects(make(1), /The original changed/);
  await assert.rejects(make(1), /Nothing more is made here/);
  look();
  assert.ok(making?.needsMembers && !offered.has(making.name));
  assert.match(making.note ?? "", /it can not be made: The original changed/);
});

Deno.test("Making wants members for the other files of a model, and none for what it makes", async () => {
  const { arrive, look, making } = await setUp({}, 2);
  await arrive(CHUNK, 2_000);
  look();
  assert.ok(making?.isMaking && making.needsMembers);
  const member = making.watched({ name: "pc", has: () => true, fetch: never });
  assert.ok(!member.has(chunkAt(1)));
  assert.ok(member.has({ ...chunkAt(1), file: 1 }));
});

Deno.test("Making has nothing where the model is no derived one, or would have another size", async () => {
  const other = await setUp({ sizeBytes: 5 });
  assert.equal(other.making, null);
  assert.ok(other.state.isDisposed);
  assert.deepEqual(other.failures, ["It would have another size"]);
  const { asked, making } = await setUp({}, 0);
  assert.deepEqual([making, asked], [null, []]);
});
