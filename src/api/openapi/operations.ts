import type { JsonObject } from "../../domain/mod.ts";
import { describeMessages } from "../anthropic/chat_body.ts";
import { describeGenerate, describeOllamaChat } from "../ollama/chat_body.ts";
import { describeEmbeddings } from "../ollama/embed.ts";
import { describeSpeech } from "../openai/audio/speech.ts";
import { describeTranscription } from "../openai/audio/transcription.ts";
import { describeChat } from "../openai/chat.ts";
import { describeCompletion } from "../openai/completion.ts";
import { describeEmbedding } from "../openai/embedding.ts";
import { describeRerank } from "../openai/rerank.ts";
import { describeResponses } from "../openai/responses_body.ts";

/** What is known of an operation beyond its row in the table of routes. */
export interface OperationNote {
  readonly summary: string;
  /** What its body has to satisfy, as the parser of that route has it. */
  readonly body?: () => JsonObject;
  /** Whether the body is a form with a file, and not JSON. */
  readonly isForm?: true;
  /** Content type of an answer that is no JSON. */
  readonly answers?: string;
  /** Content type of a streamed answer. */
  readonly streams?: string;
}

const EVENTS = "text/event-stream";
const LINES = "application/x-ndjson";

/** Notes, by method and pattern. */
export const OPERATION_NOTES: Readonly<Record<string, OperationNote>> = {
  "POST /v1/chat/completions": {
    summary: "Chat, in OpenAI's dialect",
    body: describeChat,
    streams: EVENTS,
  },
  "POST /v1/completions": {
    summary: "Complete a text, in OpenAI's dialect",
    body: describeCompletion,
    streams: EVENTS,
  },
  "POST /v1/embeddings": {
    summary: "Embed texts, in OpenAI's dialect",
    body: describeEmbedding,
  },
  "POST /v1/rerank": {
    summary: "Rank documents by how near they are to a query",
    body: describeRerank,
  },
  "POST /v1/audio/speech": {
    summary: "Speak a text, in OpenAI's dialect",
    body: describeSpeech,
    answers: "audio/*",
  },
  "POST /v1/audio/transcriptions": {
    summary: "Write down what is said in a file, in OpenAI's dialect",
    body: describeTranscription,
    isForm: true,
  },
  "POST /v1/responses": {
    summary: "Make a response, in OpenAI's dialect; none is stored",
    body: describeResponses,
    streams: EVENTS,
  },
  "POST /v1/messages": {
    summary: "Chat, in Anthropic's dialect",
    body: describeMessages,
    streams: EVENTS,
  },
  "POST /v1/messages/count_tokens": {
    summary: "Estimate a prompt's tokens, in Anthropic's dialect",
    body: describeMessages,
  },
  "POST /api/chat": {
    summary: "Chat, in Ollama's dialect",
    body: describeOllamaChat,
    streams: LINES,
  },
  "POST /api/generate": {
    summary: "Answer a prompt, in Ollama's dialect",
    body: describeGenerate,
    streams: LINES,
  },
  "POST /api/embed": { summary: "Embed texts, in Ollama's dialect" },
  "POST /api/embeddings": {
    summary: "Embed one text, in Ollama's older dialect",
    body: describeEmbeddings,
  },
  "GET /api/tags": { summary: "List models, in Ollama's dialect" },
  "GET /api/ps": { summary: "List models in memory, in Ollama's dialect" },
  "POST /api/show": { summary: "Describe a model, in Ollama's dialect" },
  "GET /api/version": { summary: "The state of Ollama's API spoken here" },
  "GET /v1/models": { summary: "List models" },
  "GET /v1/models/{id…}": { summary: "Describe a model" },
  "GET /healthz": { summary: "Tell that the process is alive" },
  "GET /readyz": { summary: "Tell whether the node can serve" },
  "GET /metrics": { summary: "Metrics, in Prometheus' text format" },
  "GET /cluster/members": { summary: "List the cluster's members" },
  "POST /cluster/copies": {
    summary: 'Have members copy a model: {model, to: [names] or "all"}',
  },
  "GET /cluster/copies": {
    summary: "List copies of models on all members, with their progress",
  },
  "DELETE /cluster/copies/{id}": {
    summary: "Cancel a copy, on whichever member it is",
  },
  "POST /cluster/copies/{id}/pause": {
    summary: "Stop a copy until it is resumed; what came stays",
  },
  "POST /cluster/copies/{id}/resume": {
    summary: "Go on with a copy that was paused",
  },
  "GET /covey/memory": {
    summary: "List models in memory or being loaded, engine by engine",
  },
  "GET /covey/fit/{model…}": {
    summary: "Tell whether a model fits into each member's memory",
  },
  "POST /covey/models/{model}/unload": {
    summary: "Take a model out of memory: {node} for one member alone",
  },
  "GET /covey/decisions": {
    summary:
      "List the latest decisions, newest first, one JSON object a line: ?limit=, 100 unless said",
  },
  "GET /covey/decisions/{id}": { summary: "Explain where an answer came from" },
  "GET /openapi.json": { summary: "This description" },
  "GET /openapi": { summary: "This description, as a page" },
  "GET /": { summary: "Tell that Covey is running" },
};
