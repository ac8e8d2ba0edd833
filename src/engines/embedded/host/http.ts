import { timingSafeEqual } from "node:crypto";
import type { JsonObject } from "../../../domain/mod.ts";
import type { Clock } from "../../../platform/mod.ts";
import { readBody } from "./body.ts";
import { answerChat, renderPrompt } from "./chat_answer.ts";
import { parseChatRequest } from "./chat_request.ts";
import { answerCompletion } from "./completion_answer.ts";
import { answerEmbeddings } from "./embedding_answer.ts";
import type { HostState } from "./host_state.ts";
import {
  describeModel,
  describeSlots,
  modelOf,
  type ReadyState,
} from "./introspection.ts";
import { answerRanking } from "./ranking_answer.ts";
import { errorBody, RequestError } from "./request_error.ts";
import { answerDetokenize, answerTokenize } from "./tokenize_answer.ts";

/** What the routes stand on. */
export interface HandlerOptions {
  /** What every request must carry. */
  readonly token: string;
  readonly clock: Clock;
  /** The state at this moment. */
  state(): HostState;
  /** A failure that no caller is told the inside of. */
  onFailure(problem: unknown): void;
}

type Route = (
  ready: ReadyState,
  body: JsonObject,
  abort: AbortController,
) => Promise<Response> | Response;

/** Routes that need the loaded model, by method and path. */
const ROUTES: Readonly<Record<string, Route>> = {
  "GET /props": (ready) => Response.json(describeModel(ready)),
  "GET /slots": (ready) => Response.json(describeSlots(ready)),
  "POST /tokenize": answerTokenize,
  "POST /detokenize": answerDetokenize,
  "POST /apply-template": (ready, body) => {
    const { chat } = chatHost(ready);
    return Response.json({
      prompt: renderPrompt(chat, parseChatRequest(body)),
    });
  },
  "POST /v1/chat/completions": (ready, body, abort) =>
    answerChat(chatHost(ready), body, abort),
  "POST /v1/completions": (ready, body, abort) =>
    answerCompletion(chatHost(ready), body, abort),
  "POST /v1/embeddings": (ready, body, abort) => {
    if (ready.state !== "embedding") {
      throw startedForOther(ready, "it makes no embeddings");
    }
    return answerEmbeddings(ready.host, body, abort.signal);
  },
  "POST /v1/rerank": (ready, body, abort) => {
    if (ready.state !== "rerank") {
      throw startedForOther(ready, "it ranks no documents");
    }
    return answerRanking(ready.host, body, abort.signal);
  },
};

function chatHost(ready: ReadyState) {
  if (ready.state === "chat") return ready.host;
  throw startedForOther(ready, "it does not chat");
}

function startedForOther(ready: ReadyState, so: string): RequestError {
  return new RequestError(
    501,
    `The model "${modelOf(ready).name}" was started to ${
      STARTED_TO[ready.state]
    }; ${so}`,
  );
}

const STARTED_TO: Readonly<Record<ReadyState["state"], string>> = {
  chat: "chat",
  embedding: "embed",
  rerank: "rank",
};

/**
 * Build the handler of an engine's socket: llama-server's routes, each asking
 * for the start's token.
 *
 * @param options Token, clock and state.
 * @returns The handler; it never rejects.
 */
export function createHandler(
  options: HandlerOptions,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const abort = new AbortController();
    const onLeft = () => abort.abort(request.signal.reason);
    request.signal.addEventListener("abort", onLeft, { once: true });
    try {
      return await dispatch(options, request, abort);
    } catch (problem) {
      if (problem instanceof RequestError) return refuse(problem);
      if (!abort.signal.aborted) options.onFailure(problem);
      return refuse(
        new RequestError(500, "The engine failed to handle this request"),
      );
    }
  };
}

async function dispatch(
  options: HandlerOptions,
  request: Request,
  abort: AbortController,
): Promise<Response> {
  checkToken(request.headers.get("authorization"), options.token);
  const { pathname } = new URL(request.url);
  const state = options.state();
  if (request.method === "GET" && pathname === "/health") {
    if (state.state !== "loading") return Response.json({ status: "ok" });
    return Response.json(
      { status: "loading model", progress: state.progress },
      { status: 503 },
    );
  }
  const route = ROUTES[`${request.method} ${pathname}`];
  if (route === undefined) {
    throw new RequestError(
      404,
      `There is no route ${request.method} ${pathname} here`,
    );
  }
  if (state.state === "loading") {
    throw new RequestError(503, "The model is being loaded", {
      code: "loading",
    });
  }
  const body = request.method === "POST"
    ? await readBody(request, options.clock)
    : {};
  return await route(state, body, abort);
}

function checkToken(header: string | null, token: string): void {
  const encoder = new TextEncoder();
  const given = encoder.encode(header ?? "");
  const wanted = encoder.encode(`Bearer ${token}`);
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return;
  throw new RequestError(401, "This engine's token is missing or wrong");
}

function refuse(error: RequestError): Response {
  return Response.json(errorBody(error), { status: error.status });
}
