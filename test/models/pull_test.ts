import assert from "node:assert/strict";
import {
  type PullAllies,
  type PullWant,
  Secret,
} from "../../src/domain/mod.ts";
import { createModelStore } from "../../src/models/model_store.ts";
import { HubHttp } from "../../src/models/pull/hub_http.ts";
import { createPulls } from "../../src/models/pull/pulls.ts";
import {
  createSeededEntropy,
  createSystemClock,
  FileError,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { buildGguf } from "../fakes/gguf_builder.ts";
import { type HubServer, sha256Of, startHub } from "../fakes/hub_server.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const PIECE = 1_000;
const FOREVER = new AbortController().signal;
const silent = () => {};

/** A model of about ten pieces whose last bytes tell it from others. */
function model(mark: number, bytes = 10_000): Uint8Array<ArrayBuffer> {
  const built = buildGguf({
    pairs: [
      ["general.architecture", { text: "llama" }],
      ["llama.context_length", { u32: 4_096 }],
    ],
    tensors: [{ name: "t", dimensions: [bytes], type: 24, offset: 0 }],
    dataBytes: bytes,
  });
  for (let at = 200; at < built.length; at++) built[at] = (at * 7 + mark) % 251;
  return built;
}

interface Setup {
  readonly files?: MemoryFiles;
  readonly token?: string;
  readonly freeBytes?: number;
  readonly diskBytes?: number;
  readonly allies?: PullAllies;
}

function pulling(
  hub: HubServer,
  { allies, diskBytes, files, freeBytes, token }: Setup = {},
) {
  const held = files ??
    new MemoryFiles({ "/models/.keep": "", "/data/.keep": "" });
  const log = new QuietLog();
  const clock = createSystemClock();
  // Waits between tries are no part of what is tested.
  const hurried = { ...clock, sleep: () => clock.sleep(0) };
  for (
    const name of ["now", "monotonic", "after", "every", "deadline"] as const
  ) {
    Object.assign(hurried, { [name]: clock[name].bind(clock) });
  }
  const store = createModelStore({
    files: held,
    clock,
    log,
    modelsDir: "/models",
    manifestsDir: "/data/manifests",
  });
  const pulls = createPulls({
    files: held,
    clock: hurried,
    entropy: createSeededEntropy(1),
    log,
    http: new HubHttp({
      clock,
      endpoint: hub.origin,
      token: token === undefined ? null : new Secret(token),
      fetch: (url, init) => fetch(url, init),
    }),
    store,
    allies: () => allies ?? null,
    modelsDir: "/models",
    listPath: "/data/pulls.json",
    pieceBytes: PIECE,
    freeDiskBytes: () => freeBytes ?? null,
    totalDiskBytes: () => diskBytes ?? null,
  });
  return {
    files: held,
    log,
    pulls,
    store,
    pull: (source: string) => pulls.pull({ source }, silent, FOREVER),
    async [Symbol.asyncDispose]() {
      await pulls[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

const Q4 = "m-Q4_K_M.gguf";
const PLACE = `/models/org/repo/${Q4}`;

async function expectPulled(files: MemoryFiles, bytes: Uint8Array) {
  const here = await files.readBytes(PLACE);
  assert.equal(here.length, bytes.length);
  assert.equal(sha256Of(here), sha256Of(bytes));
  assert.deepEqual(await files.list("/models/.partial"), []);
}

Deno.test("pull fetches the asked quantisation in ranges, checks it and offers it with its root", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes, "m-Q8_0.gguf": model(2, 20_000) });
  await using node = pulling(hub);
  const stages = new Set<string>();
  const outcome = await node.pulls.pull(
    { source: "hf.co/org/repo" },
    ({ stage }) => stages.add(stage),
    FOREVER,
  );
  assert.deepEqual(outcome, {
    model: "m-Q4_K_M",
    sizeBytes: bytes.length,
    verified: true,
    from: [],
  });
  assert.deepEqual([...stages], [
    "asking",
    "downloading",
    "verifying",
    "publishing",
  ]);
  await expectPulled(node.files, bytes);
  const [offered] = node.store.list();
  assert.match(`${offered?.root}`, /^[0-9a-f]{64}$/);
  const ranged = hub.requests.filter(({ ifRange }) => ifRange !== null);
  assert.equal(ranged.length, Math.ceil(bytes.length / PIECE));
  hub.requests.length = 0;
  assert.deepEqual(await node.pull("org/repo"), outcome);
  assert.equal(hub.requests.length, 1, "the listing alone");
  hub.files.set(Q4, model(3));
  await assert.rejects(node.pull("org/repo"), /lies here already/);
  assert.equal(await node.files.readText("/data/pulls.json"), "[]");
});

Deno.test("pull takes a split model whole (GGF-01), and says what there is when the choice is not", async () => {
  const part = (number: number) => `big/b-Q6_K-0000${number}-of-00002.gguf`;
  await using hub = startHub({
    [part(1)]: model(1),
    [part(2)]: model(2),
    "m-IQ2_XS.gguf": model(3),
    "mmproj-F16.gguf": model(4),
  });
  await using node = pulling(hub);
  await assert.rejects(node.pull("org/repo:Q5_K_M"), /it has Q6_K, IQ2_XS$/);
  const outcome = await node.pull("org/repo:q6_k");
  assert.equal(outcome.model, "b-Q6_K");
  assert.equal(outcome.sizeBytes, model(1).length + model(2).length);
  assert.deepEqual(
    (await node.files.list("/models/org/repo")).map(({ name }) => name),
    [
      "b-Q6_K-00001-of-00002.gguf",
      "b-Q6_K-00002-of-00002.gguf",
      "mmproj-F16.gguf",
    ],
  );
});

Deno.test("pull goes on after short bodies and errors, without a byte twice", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  hub.faults = { shortBodies: { bytes: 300, times: 7 } };
  await using node = pulling(hub);
  await node.pull("org/repo");
  await expectPulled(node.files, bytes);
  await node.store.remove("m-Q4_K_M");
  hub.faults = { failing: { status: 503, times: 6 } };
  await assert.rejects(node.pull("org/repo"), /can not be reached/);
  hub.faults = { failing: { status: 503, times: 5 } };
  await node.pull("org/repo");
  await node.store.remove("m-Q4_K_M");
  hub.faults = {
    beforeRange() {
      hub.faults = { failing: { status: 429, times: 3 } };
    },
  };
  await node.pull("org/repo");
  await expectPulled(node.files, bytes);
});

/** Leave a partial file as a killed node does: some pieces, then nothing. */
async function half(hub: HubServer, files: MemoryFiles): Promise<void> {
  const stuck = Promise.withResolvers<void>();
  // Four are asked for at a time: with the ninth, five are here and kept.
  const ninth = Promise.withResolvers<void>();
  let served = 0;
  hub.faults.beforeRange = async () => {
    if (++served === 9) ninth.resolve();
    if (served > 5) await stuck.promise;
  };
  {
    await using node = pulling(hub, { files });
    const pulled = node.pull("org/repo");
    pulled.catch(silent);
    await ninth.promise;
  }
  stuck.resolve();
  hub.faults = {};
  hub.requests.length = 0;
}

const seeded = () => new MemoryFiles({ "/models/.k": "", "/data/.k": "" });

Deno.test("a pull goes on by itself after a restart and fetches only what is missing", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  const files = seeded();
  await half(hub, files);
  await using node = pulling(hub, { files });
  await node.pulls.resume();
  assert.equal(node.pulls.list().length, 1);
  // A second caller watches the pull that runs.
  await node.pull("org/repo");
  await expectPulled(files, bytes);
  const pieces = hub.requests.filter(({ ifRange }) => ifRange !== null).length;
  assert.equal(pieces, Math.ceil(bytes.length / PIECE) - 5);
});

for (const chunked of [false, true]) {
  Deno.test(`DLD-01: a server that answers a range with the whole file is read from its beginning (chunked: ${chunked})`, async () => {
    const bytes = model(1);
    await using hub = startHub({ [Q4]: bytes });
    const files = seeded();
    await half(hub, files);
    hub.faults = { ignoreRanges: true, chunked };
    await using node = pulling(hub, { files });
    await node.pull("org/repo");
    await expectPulled(files, bytes);
  });
}

Deno.test("DLD-01: bytes without the published digest never appear under the final name", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  hub.faults = { publishedSha256: "0".repeat(64), ignoreRanges: true };
  await using node = pulling(hub);
  await assert.rejects(node.pull("org/repo"), /do not have the SHA-256/);
  await assert.rejects(node.files.stat(PLACE));
  assert.deepEqual(node.store.list(), []);
});

Deno.test("DLD-03: a partial file that is whole is checked and not fetched again, others are fetched anew", async () => {
  const bytes = model(1);
  const count = Math.ceil(bytes.length / PIECE);
  const state = JSON.stringify({
    sizeBytes: bytes.length,
    etag: null,
    sha256: sha256Of(bytes),
    pieceBytes: PIECE,
    done: Array.from({ length: count }, (_, at) => at),
  });
  const wrong = bytes.slice();
  wrong[5_000] = 255;
  const long = new Uint8Array([...bytes, 1]);
  for (
    const [part, fetched] of [[bytes, false], [wrong, true], [
      long,
      true,
    ]] as const
  ) {
    await using hub = startHub({ [Q4]: bytes });
    const files = seeded();
    const { id } = await idOf(hub);
    const path = `/models/.partial/${id}`;
    await files.makeFolder(path, 0o700);
    await files.writeAtomic(`${path}/${Q4}.part`, part, 0o600);
    await files.writeAtomic(`${path}/${Q4}.part.json`, state, 0o600);
    await using node = pulling(hub, { files });
    await node.pull("org/repo");
    await expectPulled(files, bytes);
    const asked = hub.requests.some(({ range }) => range !== null);
    assert.equal(asked, fetched);
  }
});

for (const contentRange of [true, false]) {
  Deno.test(`DLD-03: a 416 in the middle starts the file anew (Content-Range: ${contentRange})`, async () => {
    const bytes = model(1);
    await using hub = startHub({ [Q4]: bytes });
    hub.faults = { refuseRanges: { contentRange, times: 2 } };
    await using node = pulling(hub);
    await node.pull("org/repo");
    await expectPulled(node.files, bytes);
  });
}

Deno.test("DLD-04: a file that changed between two halves ends as the new one, never as a mix", async () => {
  const first = model(1);
  const second = model(2);
  assert.equal(first.length, second.length);
  await using hub = startHub({ [Q4]: first });
  const url = `${hub.origin}/files/${Q4}`;
  await using node = pulling(hub);
  let served = 0;
  hub.faults.beforeRange = () => {
    if (++served === 6) hub.files.set(Q4, second);
  };
  await node.pull(url);
  assert.equal(
    sha256Of(await node.files.readBytes(`/models/${Q4}`)),
    sha256Of(second),
  );
});

Deno.test("DLD-04: weak validators join no two answers", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  hub.faults = { etag: 'W/"a"' };
  await using node = pulling(hub);
  const outcome = await node.pull(`${hub.origin}/files/${Q4}`);
  assert.equal(outcome.verified, false);
  assert.deepEqual(hub.requests.map(({ range }) => range), ["bytes=0-0", null]);
});

Deno.test("the token goes to the hub alone, and a redirect's digest is believed", async () => {
  const bytes = model(1);
  await using elsewhere = startHub({ [Q4]: bytes });
  await using hub = startHub({ [Q4]: bytes });
  hub.faults = { token: "hf_secret", redirectTo: elsewhere.origin };
  {
    await using stranger = pulling(hub);
    await assert.rejects(stranger.pull("org/repo"), /set HF_TOKEN/);
  }
  await using node = pulling(hub, { token: "hf_secret" });
  const outcome = await node.pull(`${hub.origin}/files/${Q4}`);
  assert.equal(outcome.verified, true);
  assert.ok(elsewhere.requests.length > 2);
  assert.ok(elsewhere.requests.every((one) => one.authorization === null));
  assert.ok(!JSON.stringify(node.log.lines).includes("hf_secret"));
});

Deno.test("pull leaves a tenth of the disk free, or 20 GB where that is less, and says so (health conditions)", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  for (
    const [diskBytes, freeBytes, isRefused] of [
      [100e9, 9.9e9, true],
      [100e9, 10.1e9, false],
      [1000e9, 19e9, true],
      // Less than a tenth, and still more than 20 GB.
      [1000e9, 21e9, false],
    ] as const
  ) {
    await using node = pulling(hub, { diskBytes, freeBytes });
    const pulled = node.pull("org/repo");
    if (isRefused) {
      await assert.rejects(pulled, {
        code: "storage_failed",
        message: new RegExp(
          `the disk has ${(freeBytes / 1e9).toFixed(1)} GB left, and ${
            diskBytes === 100e9 ? "10.0" : "20.0"
          } GB have to stay free: make room`,
        ),
      });
    } else assert.equal((await pulled).verified, true);
  }
});

Deno.test("pull refuses what is no model, what does not fit, and names that lead elsewhere", async () => {
  await using hub = startHub({
    [Q4]: new Uint8Array(5_000),
    "a/..gguf/../x.gguf": model(1),
  });
  await using node = pulling(hub, { freeBytes: 200_000_000 });
  await assert.rejects(node.pull("org/repo"), /the disk has 0.2 GB left/);
  const before = hub.requests.length;
  const sources = [
    "../../etc/passwd",
    "org/..",
    "nul/repo",
    "org",
    "",
    "file:///m.gguf",
    `${hub.origin}/files/x.bin`,
    `${hub.origin}/files/..%2Fx.gguf`,
    `${hub.origin}/files/a%00.gguf`,
    `${hub.origin}/files/con.gguf`,
    `${hub.origin}/files/${"x".repeat(300)}.gguf`,
    "http://user:pass@127.0.0.1/x.gguf",
  ];
  for (const source of sources) {
    await assert.rejects(node.pull(source), /nothing to pull/, source);
  }
  assert.equal(hub.requests.length, before);
  await assert.rejects(
    node.pull(`${hub.origin}/files/${Q4}`),
    /What came is no model/,
  );
  assert.deepEqual(node.store.list(), []);
});

Deno.test("a folder that can not be written ends a pull with a remedy, and nothing is published (DLD-06)", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  await using node = pulling(hub);
  node.files.openForWriting = (path) =>
    Promise.reject(new FileError("full", path, "open", undefined));
  await assert.rejects(node.pull("org/repo"), /the disk is full; make room/);
  await assert.rejects(node.files.stat(PLACE));
});

Deno.test("cancel ends a pull and removes its bytes; many callers share one download", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  const stuck = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  hub.faults.beforeRange = async () => {
    asked.resolve();
    await stuck.promise;
  };
  await using node = pulling(hub);
  const both = [node.pull("org/repo"), node.pull("hf://org/repo")];
  const settled = Promise.allSettled(both);
  await asked.promise;
  const [view, ...more] = node.pulls.list();
  assert.deepEqual(more, []);
  const cancelled = node.pulls.cancel(`${view?.id}`);
  assert.equal(await cancelled, true);
  for (const one of await settled) {
    assert.ok(one.status === "rejected");
    assert.match(one.reason.message, /was cancelled/);
  }
  stuck.resolve();
  assert.equal(await node.pulls.cancel(`${view?.id}`), false);
  assert.deepEqual(await node.files.list("/models/.partial"), []);
});

Deno.test("a paused pull keeps its bytes over a restart and goes on where it was when resumed", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  const files = seeded();
  const stuck = Promise.withResolvers<void>();
  const ninth = Promise.withResolvers<void>();
  let served = 0;
  hub.faults.beforeRange = async () => {
    if (++served === 9) ninth.resolve();
    if (served > 5) await stuck.promise;
  };
  let id = "";
  {
    await using node = pulling(hub, { files });
    const pulled = node.pull("org/repo");
    const told = assert.rejects(pulled, /was paused; `covey pulls resume/);
    await ninth.promise;
    id = `${node.pulls.list()[0]?.id}`;
    assert.equal(await node.pulls.pause(id), true);
    await told;
    assert.equal(node.pulls.list()[0]?.stage, "paused");
  }
  stuck.resolve();
  hub.faults = {};
  hub.requests.length = 0;
  await using node = pulling(hub, { files });
  await node.pulls.resume();
  assert.deepEqual(
    node.pulls.list().map(({ id, stage }) => ({ id, stage })),
    [{ id, stage: "paused" }],
  );
  assert.equal(hub.requests.length, 0);
  assert.equal(await node.pulls.unpause("none"), false);
  assert.equal(await node.pulls.unpause(id), true);
  // Who asks for the same watches it.
  await node.pull("org/repo");
  await expectPulled(files, bytes);
  const pieces = hub.requests.filter(({ ifRange }) => ifRange !== null).length;
  assert.equal(pieces, Math.ceil(bytes.length / PIECE) - 5);
  assert.deepEqual(node.pulls.list(), []);
});

Deno.test("partial files of no pull are removed after a week, those of a paused one never", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  const files = seeded();
  const now = Date.now();
  const day = 24 * 3_600_000;
  const times = new Map<string, number>();
  for (const [name, days] of [["old", 8], ["young", 6]] as const) {
    await files.makeFolder(`/models/.partial/${name}`, 0o700);
    await files.writeAtomic(`/models/.partial/${name}/a.part`, "x", 0o600);
    times.set(`/models/.partial/${name}`, now - 30 * day);
    times.set(`/models/.partial/${name}/a.part`, now - days * day);
  }
  const stat = files.stat.bind(files);
  files.stat = async (path) => ({
    ...await stat(path),
    modifiedMs: times.get(path) ?? now,
  });
  await using node = pulling(hub, { files });
  await node.pulls.resume();
  const left = await files.list("/models/.partial");
  assert.deepEqual(left.map(({ name }) => name), ["young"]);
  assert.ok(
    node.log.lines.some(({ message }) =>
      message.startsWith("Removed partial files")
    ),
  );
});

Deno.test("bytes from members that are not the published ones are dropped, and the source is asked", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  const files = seeded();
  const wants: PullWant[] = [];
  const allies: PullAllies = {
    async turn(want) {
      wants.push(want);
      await files.makeFolder(`/models/${want.model}`, 0o700);
      const path = `/models/${want.model}/${want.model}.gguf`;
      await files.writeAtomic(path, model(2), 0o600);
      await node.store.refresh();
      return { kind: "copied", model: want.model, from: ["mallory"] };
    },
  };
  await using node = pulling(hub, { files, allies });
  const outcome = await node.pull("org/repo");
  assert.deepEqual(outcome.from, []);
  assert.deepEqual(wants.map(({ model, sha256s }) => ({ model, sha256s })), [
    { model: "m-Q4_K_M", sha256s: [sha256Of(bytes)] },
  ]);
  await expectPulled(files, bytes);
  assert.equal(node.store.list().length, 1);
  assert.ok(
    node.log.lines.some(({ fields }) => fields["members"] === "mallory"),
  );
});

async function idOf(hub: HubServer): Promise<{ id: string }> {
  let id = "";
  hub.faults.token = "nobody";
  await using node = pulling(hub);
  await assert.rejects(
    node.pulls.pull({ source: "org/repo" }, (view) => {
      id = view.id;
    }, FOREVER),
  );
  hub.faults = {};
  hub.requests.length = 0;
  return { id };
}

Deno.test("pull checks the disk for the model and its vision part together, before anything is fetched", async () => {
  const bytes = model(1);
  const vision = model(4);
  const spareBytes = 256 * 1024 * 1024;
  await using hub = startHub({ [Q4]: bytes, "mmproj-F16.gguf": vision });
  const bothBytes = spareBytes + bytes.length + vision.length;
  {
    await using node = pulling(hub, { freeBytes: bothBytes - 1 });
    await assert.rejects(node.pull("org/repo"), /have to stay free/);
    assert.ok(hub.requests.every(({ path }) => path.startsWith("/api/")));
  }
  await using node = pulling(hub, { freeBytes: bothBytes });
  assert.equal((await node.pull("org/repo")).model, "m-Q4_K_M");
});
