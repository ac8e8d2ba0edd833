import type { ModelShelf, PullAllies } from "../../src/domain/mod.ts";
import { createModelStore } from "../../src/models/model_store.ts";
import { HubHttp } from "../../src/models/pull/hub_http.ts";
import { createPulls } from "../../src/models/pull/pulls.ts";
import {
  boundFetch,
  createSeededEntropy,
  createSystemClock,
  type MemoryFiles,
} from "../../src/platform/mod.ts";
import { QuietLog } from "./quiet_log.ts";

const MODELS = "/models";

/** What a node that pulls is told. */
export interface PullingNodeOptions {
  readonly files: MemoryFiles;
  /** Base address of the hub. */
  readonly hub: string;
  /** Bytes that are asked for at once; 1,000 unless told otherwise. */
  readonly pieceBytes?: number;
  allies(): PullAllies | null;
}

/**
 * The models folder and the pulls of a node, over files in memory. Waits
 * between tries are over at once.
 *
 * @param options What it is told.
 */
export function createPullingNode(
  { allies, files, hub, pieceBytes = 1_000 }: PullingNodeOptions,
) {
  const log = new QuietLog();
  const clock = createSystemClock();
  const store = createModelStore({
    files,
    clock,
    log,
    modelsDir: MODELS,
    manifestsDir: "/data/manifests",
  });
  const pulls = createPulls({
    files,
    clock: { ...clock, sleep: () => clock.sleep(0) },
    entropy: createSeededEntropy(1),
    log,
    http: new HubHttp({
      clock,
      endpoint: hub,
      token: null,
      fetch: boundFetch,
    }),
    store,
    allies,
    modelsDir: MODELS,
    listPath: "/data/pulls.json",
    pieceBytes,
    freeDiskBytes: () => null,
  });
  const shelf: ModelShelf = {
    folder: MODELS,
    list: () => store.list(),
    refresh: () => store.refresh(),
    manifest: (model) => store.manifest(model),
    readChunk: (...place) => store.readChunk(...place),
    companions: (model) => store.companions(model),
    readCompanion: (...place) => store.readCompanion(...place),
    noteOrigins: (...noted) => store.noteOrigins(...noted),
  };
  return {
    log,
    store,
    pulls,
    shelf,
    async [Symbol.asyncDispose]() {
      await pulls[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}
