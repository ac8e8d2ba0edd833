import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Secret,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import type { ApiReply, CliContext } from "./command.ts";

/** Where the running node is, as the operator configured it. */
export type NodeAddress =
  | {
    readonly kind: "address";
    /** For example `http://127.0.0.1:11411`. */
    readonly origin: string;
    readonly apiKey: Secret | null;
  }
  /** The configuration is bad: one line that says why. */
  | { readonly kind: "bad"; readonly line: string };

/** What asking the node needs. */
export interface NodeApiOptions {
  readonly clock: Clock;
  /** Asked once a request, so that commands which need no node read no configuration. */
  address(): Promise<NodeAddress>;
  fetch(url: string, init: RequestInit): Promise<Response>;
}

const TIMEOUT_MS = 5_000;
/** For what changes something: a node may have to ask another one first. */
const ACTION_TIMEOUT_MS = 30_000;
/** Between two lines of work that tells its progress. */
const LINE_TIMEOUT_MS = 120_000;
const UNAUTHORIZED = 401;
const LONGEST_BODY = 8 * 1_048_576;

/**
 * Make the way in which commands ask the running node.
 *
 * @param options Clock, address and `fetch`.
 * @returns `CliContext.fetchJson` and `CliContext.postJson`.
 */
export function createNodeApi(
  options: NodeApiOptions,
): Pick<CliContext, "fetchJson" | "postJson" | "postLines"> {
  return {
    fetchJson: (path) => ask(path, {}, TIMEOUT_MS, readWhole),
    postJson: (method, path, body) =>
      ask(path, sending(method, body), ACTION_TIMEOUT_MS, readWhole),
    postLines: (path, body, onLine) =>
      ask(
        path,
        sending("POST", body),
        LINE_TIMEOUT_MS,
        (response, alive) =>
          response.ok
            ? readLines(response, alive, onLine)
            : readWhole(response),
      ),
  };

  async function ask(
    path: string,
    request: Pick<RequestInit, "body" | "method"> & {
      readonly headers?: Readonly<Record<string, string>>;
    },
    timeoutMs: number,
    read: (
      response: Response,
      alive: () => void,
    ) => Promise<JsonValue | undefined>,
  ): Promise<ApiReply> {
    const address = await options.address();
    if (address.kind === "bad") {
      return { kind: "unreachable", message: address.line };
    }
    const { origin, apiKey } = address;
    const silence = new AbortController();
    const wait = () => options.clock.after(timeoutMs, () => silence.abort());
    let waiting = wait();
    try {
      const response = await options.fetch(`${origin}${path}`, {
        ...request,
        signal: silence.signal,
        redirect: "error",
        headers: {
          ...request.headers,
          ...(apiKey === null
            ? {}
            : { authorization: `Bearer ${apiKey.reveal()}` }),
        },
      });
      const body = await read(response, () => {
        waiting[Symbol.dispose]();
        waiting = wait();
      });
      const failed = isJsonObject(body) && typeof body["error"] === "string";
      if (response.ok && !failed && body !== undefined) {
        return { kind: "answered", body };
      }
      const { status } = response;
      // A node that refuses does it in JSON.
      const isForeign = response.ok || (body === undefined && status < 500);
      const said = messageOf(body) ??
        (isForeign
          ? `What answers at ${origin} is no Covey node; set COVEY_HOST and COVEY_PORT to where one listens`
          : `The node answered with status ${status}`);
      // Settings that the node has from its service are not those of this command.
      const message = status === UNAUTHORIZED && apiKey === null
        ? `${said}. For this command, set COVEY_API_KEYS to one of its keys, and COVEY_TRUST_LOOPBACK=0 as the node has it`
        : said;
      return { kind: "refused", status, message, body };
    } catch (error) {
      const slow = silence.signal.aborted;
      if (!slow && !(error instanceof TypeError)) throw error;
      const what = slow
        ? `The node at ${origin} gave no answer within ${timeoutMs / 1_000} s`
        : `No node answers at ${origin}`;
      return {
        kind: "unreachable",
        message:
          `${what}; start one with \`covey serve\`, or set COVEY_HOST and COVEY_PORT to where it listens`,
      };
    } finally {
      waiting[Symbol.dispose]();
    }
  }
}

function sending(method: "POST" | "DELETE", body: JsonObject) {
  return {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

async function readWhole(response: Response): Promise<JsonValue | undefined> {
  return parseJson(await readBounded(response));
}

/** Objects line by line, each told as it comes; the last one is the answer. */
async function readLines(
  response: Response,
  alive: () => void,
  onLine: (line: JsonObject) => void,
): Promise<JsonValue | undefined> {
  const decoder = new TextDecoder();
  let last: JsonValue | undefined;
  let text = "";
  for await (const chunk of response.body ?? []) {
    alive();
    text += decoder.decode(chunk, { stream: true });
    if (text.length > LONGEST_BODY) {
      throw new TypeError("Cannot read the answer: a line is over 8 MiB");
    }
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const value = parseJson(line);
      if (!isJsonObject(value)) continue;
      last = value;
      onLine(value);
    }
  }
  return last;
}

async function readBounded(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > LONGEST_BODY) {
      throw new TypeError("Cannot read the answer: it is over 8 MiB");
    }
  }
  return text + decoder.decode();
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The message of an error in any of the dialects' shapes. */
function messageOf(body: JsonValue | undefined): string | undefined {
  if (typeof body !== "object" || body === null || !("error" in body)) {
    return undefined;
  }
  const { error } = body;
  if (typeof error === "string") return error;
  if (typeof error !== "object" || error === null || !("message" in error)) {
    return undefined;
  }
  return typeof error.message === "string" ? error.message : undefined;
}
