import {
  type MemberView,
  type NodeId,
  parseNodeId,
} from "../../src/domain/mod.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import {
  type AccessRules,
  type Api,
  type ApiOptions,
  createApi,
} from "../../src/api/mod.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { FakeRouter } from "../fakes/fake_router.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

/** This node's id in these tests. */
export const SELF: NodeId = nodeId("11111111-1111-4111-8111-111111111111");
/** A peer's id. */
export const PEER: NodeId = nodeId("22222222-2222-4222-8222-222222222222");

/** Both ends on this machine. */
export const LOOPBACK = { remoteHost: "127.0.0.1", localHost: "127.0.0.1" };

/** A caller from the LAN. */
export const LAN = { remoteHost: "192.168.1.20", localHost: "192.168.1.10" };

function nodeId(text: string): NodeId {
  const id = parseNodeId(text);
  if (id === undefined) throw new TypeError(`"${text}" is no node id`);
  return id;
}

/** An API over fakes, with what a test reads afterwards. */
export interface ApiUnderTest {
  readonly api: Api;
  readonly router: FakeRouter;
  readonly clock: ManualClock;
  readonly log: QuietLog;
  render(): Promise<string>;
}

/** Access as a node with nothing configured has it. */
export const OPEN_TO_LOOPBACK: AccessRules = {
  apiKeys: [],
  allowAnonymous: [],
  allowedHosts: [],
  allowedOrigins: [],
  trustLoopback: true,
};

/**
 * Build an API over fakes.
 *
 * @param changes What a test wants different.
 */
export function apiUnderTest(
  changes: Partial<ApiOptions> = {},
): ApiUnderTest {
  const clock = new ManualClock();
  const log = new QuietLog();
  const router = new FakeRouter(SELF);
  const metrics = createMetrics({
    version: "0.0.0",
    log,
    residentBytes: () => 1,
    startedAtSeconds: 1,
  });
  const api = createApi({
    router,
    clock,
    entropy: createSeededEntropy(1),
    log,
    metrics,
    renderMetrics: () => metrics.render(),
    members: () => MEMBERS,
    clusterId: () => "33333333-3333-4333-8333-333333333333",
    hasCluster: () => true,
    act: () => Promise.reject(new Error("Nothing acts here")),
    ready: () => ({ kind: "ready" }),
    access: OPEN_TO_LOOPBACK,
    self: { id: SELF, name: "anna" },
    ...changes,
  });
  return { api, router, clock, log, render: () => metrics.render() };
}

const MEMBERS: readonly MemberView[] = [
  {
    id: SELF,
    name: "anna",
    self: true,
    health: "healthy",
    draining: false,
    addresses: ["192.168.1.10:11412"],
    version: "0.1.0",
  },
  {
    id: PEER,
    name: "ben",
    self: false,
    health: "recovery",
    draining: true,
    addresses: [],
    version: null,
  },
];

/**
 * Make a request to the API's own address.
 *
 * @param path Path with its query.
 * @param init Method, headers and body.
 */
export function get(path: string, init: RequestInit = {}): Request {
  return new Request(`http://127.0.0.1:11411${path}`, init);
}

/**
 * Make a POST with a JSON body.
 *
 * @param path The path.
 * @param body A value to write as JSON, or bytes as they are.
 * @param headers Further headers.
 */
export function post(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Request {
  const raw = typeof body === "string" || body instanceof Uint8Array ||
    body instanceof ReadableStream;
  return get(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: raw ? body as BodyInit : JSON.stringify(body),
  });
}

/**
 * Make the way in which operators ask.
 *
 * @param api Who is asked.
 * @returns Sends a request, with JSON where there is a body, from this machine unless told otherwise.
 */
export function operatorOf(api: Api) {
  return (
    method: string,
    path: string,
    body?: unknown,
    from: typeof LOOPBACK = LOOPBACK,
  ): Promise<Response> =>
    api.handle(
      get(path, {
        method,
        ...(body === undefined ? {} : {
          body: JSON.stringify(body),
          headers: { "content-type": "application/json" },
        }),
      }),
      from,
    );
}

/** A chat request that needs nothing special. */
export const CHAT = {
  model: "m",
  messages: [{ role: "user", content: "hello" }],
};

/** The answer to it. */
export const CHAT_ANSWER: string = JSON.stringify({
  id: "c",
  object: "chat.completion",
  model: "m",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "hi" },
    finish_reason: "stop",
  }],
});

/** OpenAI's error shape with Covey's addition. */
export interface OpenAiError {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
    readonly origin: "covey" | "engine";
  };
}

/**
 * Read an answer that must be an error in OpenAI's shape.
 *
 * @param response The answer.
 */
export async function errorOf(
  response: Response,
): Promise<OpenAiError["error"]> {
  const { error }: OpenAiError = await response.json();
  return error;
}
