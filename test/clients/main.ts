/**
 * Official clients against real nodes: prints a table of what each did, and
 * ends with 1 where one failed.
 *
 * @module
 */
import { boundTo } from "../../src/platform/bound_fetch.ts";
import { AI_ANTHROPIC, AI_COMPATIBLE } from "./ai_client.ts";
import { ANTHROPIC } from "./anthropic_client.ts";
import type { Client, Target } from "./client_case.ts";
import { COLUMNS, type Outcome, runClient } from "./client_run.ts";
import { LANGCHAIN } from "./langchain_client.ts";
import { startPair, UPSTREAM_MODELS } from "./node_pair.ts";
import { OLLAMA } from "./ollama_client.ts";
import { OPENAI_CHAT, OPENAI_RESPONSES } from "./openai_client.ts";

const CLIENTS: readonly Client[] = [
  OPENAI_CHAT,
  OPENAI_RESPONSES,
  ANTHROPIC,
  OLLAMA,
  AI_COMPATIBLE,
  AI_ANTHROPIC,
  LANGCHAIN,
];

const MARKS: Readonly<Record<Outcome["kind"], string>> = {
  passed: "✓",
  failed: "FAILED",
  none: "–",
};

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

// Of a client that leaves in the middle, this runtime's own does not always tell the server.
const runtimeFetch = globalThis.fetch;
globalThis.fetch = async (input, init) =>
  boundTo(await runtimeFetch(input, init), init?.signal);

await using pair = await startPair();
const { anna, ben } = pair;
const tiny = {
  chatModel: "covey-tiny",
  embeddingModel: "covey-tiny-embed",
};
const targets: readonly (readonly [string, Target])[] = [
  ["embedded", { base: `${anna.url}/node/anna`, ...tiny }],
  ["simulated", {
    base: `${anna.url}/node/anna`,
    chatModel: "sim-chat",
    embeddingModel: "sim-embed",
  }],
  ["fake Ollama", {
    base: `${anna.url}/node/anna`,
    ...UPSTREAM_MODELS.ollama,
  }],
  ["fake vLLM", { base: `${anna.url}/node/anna`, ...UPSTREAM_MODELS.vllm }],
  ["second member", { base: `${anna.url}/node/ben`, ...tiny }],
];

const failures: string[] = [];
say(`| client | engine | ${COLUMNS.join(" | ")} |`);
say(`| --- | --- |${COLUMNS.map(() => " --- |").join("")}`);
for (const client of CLIENTS) {
  for (const [engine, target] of targets) {
    const outcomes = await runClient(client, target, [anna.url, ben.url]);
    const cells = COLUMNS.map((column) => {
      const outcome = outcomes[column];
      if (outcome.kind === "failed") {
        failures.push(`${client.name}, ${engine}, ${column}: ${outcome.why}`);
      }
      return MARKS[outcome.kind];
    });
    say(`| ${client.name} | ${engine} | ${cells.join(" | ")} |`);
  }
}
say("");
for (const failure of failures) say(failure);
say(
  failures.length === 0
    ? "All clients did all that the engine can do."
    : `${failures.length} failed.`,
);
Deno.exitCode = failures.length === 0 ? 0 : 1;
