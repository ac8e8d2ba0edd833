import type { JsonValue, Secret } from "../domain/mod.ts";
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
const LONGEST_BODY = 8 * 1_048_576;

/**
 * Make the way in which commands ask the running node.
 *
 * @param options Clock, address and `fetch`.
 * @returns `CliContext.fetchJson` and `CliContext.postJson`.
 */
export function createNodeApi(
  options: NodeApiOptions,
): Pick<CliContext, "fetchJson" | "postJson"> {
  return {
    fetchJson: (path) => ask(path, {}, TIMEOUT_MS),
    postJson: (method, path, body) =>
      ask(path, {
        method,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }, ACTION_TIMEOUT_MS),
  };

  async function ask(
    path: string,
    request: Pick<RequestInit, "body" | "method"> & {
      readonly headers?: Readonly<Record<string, string>>;
    },
    timeoutMs: number,
  ): Promise<ApiReply> {
    const address = await options.address();
    if (address.kind === "bad") {
      return { kind: "unreachable", message: address.line };
    }
    const { origin, apiKey } = address;
    using deadline = options.clock.deadline(timeoutMs);
    try {
      const response = await options.fetch(`${origin}${path}`, {
        ...request,
        signal: deadline.signal,
        redirect: "error",
        headers: {
          ...request.headers,
          ...(apiKey === null
            ? {}
            : { authorization: `Bearer ${apiKey.reveal()}` }),
        },
      });
      const body = parseJson(await readBounded(response));
      if (response.ok && body !== undefined) return { kind: "answered", body };
      const message = messageOf(body) ??
        (response.ok
          ? `What answers at ${origin} is no Covey node`
          : `The node answered with status ${response.status}`);
      return { kind: "refused", status: response.status, message, body };
    } catch (error) {
      const slow = deadline.signal.aborted;
      if (!slow && !(error instanceof TypeError)) throw error;
      const what = slow
        ? `The node at ${origin} gave no answer within ${timeoutMs / 1_000} s`
        : `No node answers at ${origin}`;
      return {
        kind: "unreachable",
        message:
          `${what}; start one with \`covey serve\`, or set COVEY_HOST and COVEY_PORT to where it listens`,
      };
    }
  }
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
