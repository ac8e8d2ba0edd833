/**
 * Stands in for llama.cpp's own server, which no registry here has: takes its
 * arguments, listens where it would, and computes with the same llama.cpp.
 *
 * @module
 */
import { parseArgs } from "node:util";
import {
  type HostState,
  readyState,
} from "../../src/engines/embedded/host/host_state.ts";
import { createHandler } from "../../src/engines/embedded/host/http.ts";
import { loadModel } from "../../src/engines/embedded/host/load_model.ts";
import { serveSocket } from "../../src/engines/embedded/host/socket_server.ts";
import {
  createSystemClock,
  createSystemEntropy,
} from "../../src/platform/mod.ts";

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const { values } = parseArgs({
  options: {
    model: text,
    host: text,
    "ctx-size": text,
    parallel: text,
    threads: text,
    "n-gpu-layers": text,
    jinja: flag,
    embeddings: flag,
    rerank: flag,
    "no-webui": flag,
  },
});
const { host = "", model = "" } = values;
if (!host.endsWith(".sock")) throw new Error(`"${host}" is no Unix socket`);
const slots = Number(values.parallel);
const clock = createSystemClock();
let state: HostState = { state: "loading", progress: 0 };
await serveSocket(
  host,
  createHandler({
    token: Deno.env.get("LLAMA_API_KEY") ?? "",
    clock,
    state: () => state,
    onFailure(problem) {
      throw problem;
    },
  }),
);
const loaded = await loadModel({
  modelPath: model,
  socketPath: host,
  mode: values.embeddings ? "embedding" : values.rerank ? "rerank" : "chat",
  contextPerSlot: Number(values["ctx-size"]) / slots,
  slots,
  threads: Number(values.threads),
  gpu: "off",
}, { progress() {}, log() {} }).catch((error) => {
  Deno.stderr.writeSync(
    new TextEncoder().encode(`error loading model: ${error.message}\n`),
  );
  Deno.exit(1);
});
state = readyState(loaded, clock, createSystemEntropy());
