import assert from "node:assert/strict";
import type {
  InferenceRequest,
  LoadState,
  LocalModel,
} from "../../src/domain/mod.ts";
import { createEmbeddedEngine } from "../../src/engines/embedded/embedded_engine.ts";
import type { EmbeddedEngineOptions } from "../../src/engines/embedded/embedded_options.ts";
import { type HttpClient, replyOf } from "../../src/engines/http_client.ts";
import {
  createSeededEntropy,
  ManualClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { buildAttempt, testNodeId } from "./attempt_builder.ts";
import { FakeProcesses } from "./fake_processes.ts";
import { QuietLog } from "./quiet_log.ts";

export const GB = 1_000_000_000;
export const never = new AbortController().signal;

/** A model of 1 GB whose header says nothing of its shape. */
export function model(
  name: string,
  changes: Partial<LocalModel> = {},
): LocalModel {
  return {
    name,
    path: `/models/${name}.gguf`,
    sizeBytes: GB,
    architecture: "llama",
    contextLength: 131_072,
    capabilities: ["chat", "completion"],
    features: ["tools", "json_schema"],
    root: null,
    ...changes,
  };
}

/** An embedded engine on fakes, with models a, b and c. */
export function setUp(changes: Partial<EmbeddedEngineOptions> = {}) {
  const clock = new ManualClock();
  const processes = new FakeProcesses();
  const files = new MemoryFiles();
  const log = new QuietLog();
  const models = [model("a"), model("b"), model("c")];
  const memory = { freeBytes: 64 * GB };
  const closed: string[] = [];
  const tokens: string[] = [];
  const createClient = (path: string): HttpClient => ({
    post({ headers }) {
      tokens.push(headers.authorization ?? "");
      return Promise.resolve(replyOf(new Response("data: [DONE]\n\n")));
    },
    [Symbol.dispose]: () => closed.push(path),
  });
  const engine = createEmbeddedEngine({
    clock,
    processes,
    files,
    entropy: createSeededEntropy(1),
    log,
    node: testNodeId(),
    nodeName: "here",
    models: { list: () => models, invalid: () => [] },
    threads: 2,
    slots: 2,
    contextLength: null,
    keepAliveMs: 300_000,
    env: { PATH: "/bin" },
    gpu: "auto",
    runtimeDir: "/data/run",
    temporaryDir: "/short",
    freeMemoryBytes: () => memory.freeBytes,
    createClient,
    ...changes,
  });
  const ask = async (
    name: string,
    request: Partial<InferenceRequest> = {},
  ) => {
    const started = await engine.start(buildAttempt(name, request), never);
    assert.equal(started.kind, "accepted");
    const answer = await started.answer();
    return await new Response(answer.body).text();
  };
  const state = (name: string): LoadState["kind"] | undefined =>
    engine.view().offers.find((offer) => offer.model === name)?.state.kind;
  const seen = { clock, processes, files, log, models, memory };
  return { ...seen, engine, closed, tokens, ask, state };
}
