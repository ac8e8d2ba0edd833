import {
  type Attempt,
  type Capability,
  type EngineAnswer,
  Fault,
  type JsonObject,
  type PieceSource,
  SourcedAnswer,
} from "../domain/mod.ts";
import { writeAudioForm } from "./audio_form.ts";
import {
  type HttpClient,
  type HttpReply,
  UnreachableError,
} from "./http_client.ts";
import { MalformedAnswerError } from "./plain_http/malformed_answer.ts";
import { WholeAsEvents } from "./whole_as_events.ts";

/** A server that speaks OpenAI's dialect. */
export interface HttpTarget {
  readonly client: HttpClient;
  /** Headers it asks for, its key among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts, with the fault to report, when the server is known to be gone. */
  readonly died: AbortSignal;
}

const PATHS: Readonly<Record<Capability, string>> = {
  chat: "/v1/chat/completions",
  completion: "/v1/completions",
  embedding: "/v1/embeddings",
  rerank: "/v1/rerank",
  transcription: "/v1/audio/transcriptions",
  speech: "/v1/audio/speech",
};

/** Work whose answer is written piece by piece, and can be streamed. */
const WRITTEN: ReadonlySet<Capability> = new Set(["chat", "completion"]);

const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream";
const LEAST_OK = 200;
const LEAST_NOT_OK = 300;

/**
 * Send an attempt to an engine's HTTP server. An answer with any status is an
 * answer, and its bytes pass through untouched; but one that is no stream where
 * a stream was asked for becomes one, and a stream for nobody is refused.
 *
 * @param target The server.
 * @param attempt What to ask it.
 * @param signal Aborting it breaks the call off, its body included.
 * @param onEnd Called once, when nothing more will come or is wanted: also
 * before a throw, and when the signal is aborted and nobody reads on.
 * @returns The answer's head and body. A body whose server died ends in an error.
 * @throws {Fault} When the server could not be asked or broke before its answer.
 */
export async function dispatchHttp(
  target: HttpTarget,
  attempt: Attempt,
  signal: AbortSignal,
  onEnd: () => void,
): Promise<EngineAnswer> {
  // Not `AbortSignal.any`: what it makes of a signal that outlives the call is never let go.
  const either = new AbortController();
  const end = onlyOnce(() => {
    signal.removeEventListener("abort", onAbort);
    target.died.removeEventListener("abort", onDeath);
    onEnd();
  });
  const onAbort = () => {
    either.abort(signal.reason);
    end();
  };
  const onDeath = () => {
    either.abort(target.died.reason);
    end();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  target.died.addEventListener("abort", onDeath, { once: true });
  if (signal.aborted) onAbort();
  else if (target.died.aborted) onDeath();
  try {
    const { capability } = attempt.request;
    const path = PATHS[capability];
    const asked = bodyOf(attempt);
    const response = await target.client.post(
      capability === "transcription"
        ? { path, headers: target.headers, body: writeAudioForm(asked) }
        : {
          path,
          headers: { "content-type": "application/json", ...target.headers },
          body: JSON.stringify(asked),
        },
      either.signal,
    );
    const { body, contentType } = await inAskedShape(response, attempt);
    return new SourcedAnswer(
      {
        status: response.status,
        contentType,
        retryAfter: response.headers.get("retry-after"),
      },
      new PassedBody(body, {
        reasonFor: (error) => reasonOf(error, target, signal),
        isDead: () => target.died.aborted,
        onEnd: end,
      }),
    );
  } catch (error) {
    end();
    throw reasonOf(error, target, signal);
  }
}

function onlyOnce(call: () => void): () => void {
  let called = false;
  return () => {
    if (!called) call();
    called = true;
  };
}

/** The request in the engine's own words. */
function bodyOf({ model, request, resume }: Attempt): JsonObject {
  const { stream_options: _, stream: __, ...asked } = request.body;
  // Only an engine that offers `resume` is ever asked to.
  const body = resume === undefined ? asked : {
    ...asked,
    covey_resume: { text: resume.text, tokens: resume.tokens },
  };
  if (!WRITTEN.has(request.capability)) return { ...body, model };
  return request.stream
    // Usage is always asked for: predictions are held against it.
    ? { ...body, model, stream: true, stream_options: { include_usage: true } }
    : { ...body, model, stream: false };
}

interface Shaped {
  readonly contentType: string;
  readonly body: PieceSource;
}

/** Servers that pass `stream` over are read all the same, unless they stream to who wants an answer whole: its end would show nowhere. */
async function inAskedShape(
  { body, headers, status }: HttpReply,
  { request }: Attempt,
): Promise<Shaped> {
  const said = headers.get("content-type");
  const isWritten = WRITTEN.has(request.capability) &&
    request.upkeep?.only === undefined &&
    status >= LEAST_OK && status < LEAST_NOT_OK;
  if (!isWritten) return { contentType: said ?? JSON_TYPE, body };
  // Who says nothing is taken to do what was asked for.
  const contentType = said ?? (request.stream ? EVENTS_TYPE : JSON_TYPE);
  if (request.stream && contentType.startsWith(JSON_TYPE)) {
    return { contentType: EVENTS_TYPE, body: new WholeAsEvents(body) };
  }
  if (request.stream || !contentType.startsWith(EVENTS_TYPE)) {
    return { contentType, body };
  }
  await body.cancel(null);
  throw new Fault(
    "engine_failed",
    "The engine streams its answer, which was asked for whole",
    { origin: "engine" },
  );
}

/** What to tell the caller of an error: its own leaving, the death, or a broken answer. */
function reasonOf(
  error: unknown,
  target: HttpTarget,
  signal: AbortSignal,
): unknown {
  if (error instanceof Fault) return error;
  if (signal.aborted) return signal.reason;
  if (target.died.aborted) return target.died.reason;
  return new Fault("engine_failed", messageOf(error), {
    origin: "engine",
    cause: error,
  });
}

function messageOf(error: unknown): string {
  if (error instanceof UnreachableError) {
    return "The engine's server can not be reached";
  }
  return error instanceof MalformedAnswerError
    ? `The engine's answer can not be read: ${error.message}`
    : "The engine broke its answer off";
}

/** What a body on its way asks and tells. */
interface Passage {
  reasonFor(error: unknown): unknown;
  isDead(): boolean;
  onEnd(): void;
}

/** A server's bytes as they come. The end of a dead server's connection is not the end of its answer. */
class PassedBody implements PieceSource {
  readonly #body: PieceSource;
  readonly #passage: Passage;
  #isOver = false;

  constructor(body: PieceSource, passage: Passage) {
    this.#body = body;
    this.#passage = passage;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  async read(): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    const { isDead, reasonFor } = this.#passage;
    try {
      const piece = await this.#body.read();
      if (piece === undefined) this.#end();
      // Of a dead server's the next read tells.
      else if (this.#body.isOver === true && !isDead()) this.#end();
      if (piece !== undefined || !isDead()) return piece;
    } catch (error) {
      this.#end();
      throw reasonFor(error);
    }
    throw reasonFor(undefined);
  }

  async cancel(reason: unknown): Promise<void> {
    this.#end();
    await this.#body.cancel(reason);
  }

  #end(): void {
    this.#isOver = true;
    this.#passage.onEnd();
  }
}
