import type { ClusterAction, JsonObject } from "../../domain/mod.ts";
import {
  CONVERSION_BODY,
  FORECAST_BODY,
  IMPORT_BODY,
  KEY_BODY,
  PACK_BODY,
  PULL_BODY,
  UNLOAD_BODY,
  VERIFY_BODY,
} from "../admin_bodies.ts";
import { describeMessages } from "../anthropic/chat_body.ts";
import { describeGenerate, describeOllamaChat } from "../ollama/chat_body.ts";
import { describeEmbed, describeEmbeddings } from "../ollama/embed.ts";
import {
  describeCopy,
  describeName,
  describePull,
} from "../ollama/model_bodies.ts";
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
  /** What it asks of the cluster code, which reads the body, and describes it. */
  readonly action?: ClusterAction;
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
  "POST /api/embed": {
    summary: "Embed texts, in Ollama's dialect",
    body: describeEmbed,
  },
  "POST /api/embeddings": {
    summary: "Embed one text, in Ollama's older dialect",
    body: describeEmbeddings,
  },
  "GET /api/tags": { summary: "List models, in Ollama's dialect" },
  "GET /api/ps": { summary: "List models in memory, in Ollama's dialect" },
  "POST /api/show": {
    summary: "Describe a model, in Ollama's dialect",
    body: describeName,
  },
  "POST /api/pull": {
    summary: "Fetch a model, in Ollama's dialect",
    body: describePull,
    streams: LINES,
  },
  "DELETE /api/delete": { summary: "Remove a model, in Ollama's dialect" },
  "POST /api/copy": {
    summary: "Give a model a second name, in Ollama's dialect",
    body: describeCopy,
  },
  "POST /cluster/invites": {
    summary: "Make a token or a code that lets one node in",
    action: "invite",
  },
  "POST /cluster/join": {
    summary: "Join a cluster by a token, or by a code and its issuer's address",
    action: "join",
  },
  "POST /cluster/leave": {
    summary: "Leave the cluster",
    action: "leave",
  },
  "POST /cluster/door": {
    summary: "Open or close the door to whom only the secret would let in",
    action: "door",
  },
  "DELETE /cluster/members/{member}": {
    summary: "Remove a member; {expel: true} closes the door behind it",
  },
  "POST /fleet/workers/{worker}/drain": {
    summary: "Have a worker finish what runs and take no more",
  },
  "POST /fleet/workers/{worker}/undrain": {
    summary: "Have a drained worker take work again",
  },
  "POST /fleet/workers/refresh": { summary: "Look at all workers anew" },
  "DELETE /fleet/workers/{worker}": { summary: "Remove a worker" },
  "GET /fleet/health": { summary: "Health and breakers of all workers" },
  "GET /fleet/status": { summary: "How many workers there are to work" },
  "GET /fleet/workers": { summary: "List the workers" },
  "GET /fleet/workers/{worker}/status": { summary: "One worker" },
  "GET /cluster/doctor": { summary: "Examine every step between members" },
  "GET /cluster/audit": { summary: "Who came, went and was refused" },
  "GET /api/version": { summary: "The state of Ollama's API spoken here" },
  "GET /v1/models": { summary: "List models" },
  "GET /v1/models/{id…}": { summary: "Describe a model" },
  "GET /healthz": { summary: "Tell that the process is alive" },
  "GET /readyz": { summary: "Tell whether the node can serve" },
  "GET /metrics": { summary: "Metrics, in Prometheus' text format" },
  "GET /cluster/members": { summary: "List the cluster's members" },
  "POST /cluster/copies": {
    summary: "Have members copy a model from whoever has it",
    action: "copy",
  },
  "POST /covey/pulls": {
    summary: "Fetch a model from a hub, a URL or a member that has it",
    body: () => PULL_BODY.describe(),
    streams: LINES,
  },
  "POST /covey/imports": {
    summary: "Take models of this machine over without copying",
    body: () => IMPORT_BODY.describe(),
    streams: LINES,
  },
  "POST /covey/models/verify": {
    summary: "Hold models' files against their digests",
    body: () => VERIFY_BODY.describe(),
    streams: LINES,
  },
  "POST /covey/models/convert": {
    summary: "Make a smaller model of one that lies here, as Q8_0",
    body: () => CONVERSION_BODY.describe(),
    streams: LINES,
  },
  "DELETE /covey/models/{model…}": { summary: "Remove a model's files" },
  "GET /covey/keys": { summary: "List clients' keys by name" },
  "POST /covey/keys": {
    summary: "Make a key; it is shown this once",
    body: () => KEY_BODY.describe(),
  },
  "DELETE /covey/keys/{name}": { summary: "Revoke a key" },
  "GET /covey/pulls": { summary: "List what is being fetched" },
  "DELETE /covey/pulls/{id}": { summary: "Give a pull up" },
  "POST /covey/pulls/{id}/pause": {
    summary: "Stop a pull until it is resumed; what came stays",
  },
  "POST /covey/pulls/{id}/resume": {
    summary: "Go on with a pull that was paused",
  },
  "GET /covey/packs": {
    summary: "List GPU libraries for llama.cpp, and the members that have them",
  },
  "POST /covey/packs/{name}": {
    summary: "Have a GPU library of a member, or of the one called {from}",
    body: () => PACK_BODY.describe(),
    streams: LINES,
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
  "POST /covey/fit": {
    summary:
      "Tell into which members a model would fit before it is pulled, by its header at the source",
    body: () => FORECAST_BODY.describe(),
  },
  "POST /covey/models/{model}/unload": {
    summary: "Take a model out of memory: {node} for one member alone",
    body: () => UNLOAD_BODY.describe(),
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
