import assert from "node:assert/strict";
import { type PullAllies, Secret } from "../../src/domain/mod.ts";
import { createModelStore } from "../../src/models/model_store.ts";
import { HubHttp } from "../../src/models/pull/hub_http.ts";
import { createPulls } from "../../src/models/pull/pulls.ts";
import {
  boundFetch,
  createSeededEntropy,
  createSystemClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { buildGguf } from "../fakes/gguf_builder.ts";
import { type HubServer, sha256Of } from "../fakes/hub_server.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

/** Bytes that are asked for at once. */
export const PIECE = 1_000;
/** Never aborted. */
export const FOREVER = new AbortController().signal;
/** Listens to nothing. */
export const silent = () => {};

/** A model of about ten pieces whose last bytes tell it from others. */
export function model(mark: number, bytes = 10_000): Uint8Array<ArrayBuffer> {
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

/** What a node that pulls is like otherwise. */
export interface Setup {
  readonly files?: MemoryFiles;
  readonly token?: string;
  readonly freeBytes?: number;
  readonly diskBytes?: number;
  readonly allies?: PullAllies;
}

/** A node that pulls from a hub of the test, over files in memory. */
export function pulling(
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
      fetch: boundFetch,
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

/** The file that is pulled where none is named. */
export const Q4 = "m-Q4_K_M.gguf";
/** Where it lies then. */
export const PLACE = `/models/org/repo/${Q4}`;

/** Expect the file whole and nothing else. */
export async function expectPulled(files: MemoryFiles, bytes: Uint8Array) {
  const here = await files.readBytes(PLACE);
  assert.equal(here.length, bytes.length);
  assert.equal(sha256Of(here), sha256Of(bytes));
  assert.deepEqual(await files.list("/models/.partial"), []);
}

/** Leave a partial file as a killed node does: some pieces, then nothing. */
export async function half(hub: HubServer, files: MemoryFiles): Promise<void> {
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

/** Empty folders for models and data. */
export const seeded = () =>
  new MemoryFiles({ "/models/.k": "", "/data/.k": "" });

/** The id that a pull of the hub's repository has. */
export async function idOf(hub: HubServer): Promise<{ id: string }> {
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
