import { Fault, faultOf, type Source } from "../domain/mod.ts";
import { type ConnectionInfo, createAccess } from "./access.ts";
import type { ApiOptions, Call } from "./context.ts";
import type { HeadFields } from "./head_fields.ts";
import { allowOrigin, preflightResponse } from "./cors.ts";
import { type Dialect, faultResponse } from "./errors.ts";
import { createRateLimiter } from "./rate_limit.ts";
import { pathOf } from "./request_path.ts";
import { cutSourcePrefix } from "./request_source.ts";
import { routeHint } from "./route_hint.ts";
import { type RouteMatch, RouteTable } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";
import { createRoutes, dialectOf } from "./routes.ts";

/** The HTTP surface of a node, without a socket. */
export interface Api {
  /**
   * Answer a request. Never rejects: whatever goes wrong is an answer too.
   *
   * @param request The request. Aborting its signal means that the client left.
   * @param info Both ends of the connection.
   * @returns The answer; cancelling its body stops the engine.
   */
  handle(request: Request, info: ConnectionInfo): Promise<Response>;
}

/** A request after its path was understood. */
interface Matched {
  readonly path: string;
  readonly dialect: Dialect;
  readonly prefix: Source;
  readonly match: RouteMatch<RouteTarget>;
}

/** nginx's word for a client that left before its answer; nobody reads it. */
const CLIENT_LEFT = 499;

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]);

/**
 * Build the HTTP surface.
 *
 * @param options What it is built from.
 * @returns The surface.
 */
export function createApi(options: ApiOptions): Api {
  const { clock, entropy, log, metrics, self } = options;
  const access = createAccess(
    options.access,
    self.name,
    options.clientKeys ?? null,
    () => entropy.uuid(),
  );
  const limiter = options.rateLimit
    ? createRateLimiter(options.rateLimit)
    : null;
  const routes = createRoutes(options);
  const table = new RouteTable(routes);
  const requests = metrics.counter(
    "covey_http_requests_total",
    "HTTP requests answered, by route pattern, method and class of status.",
    ["route", "method", "status"],
  );

  async function handle(
    request: Request,
    info: ConnectionInfo,
  ): Promise<Response> {
    const startMs = clock.monotonic();
    const path = pathOf(request.url);
    let matched: Matched | null = null;
    let response: Response;
    try {
      matched = match(request, path);
      response = await answer(request, info, matched);
    } catch (thrown) {
      response = failed(
        thrown,
        signalOf(request, info),
        matched === null ? UNMATCHED : patternOf(matched),
        matched?.dialect ?? dialectOf(path),
      );
    }
    const route = matched === null ? UNMATCHED : patternOf(matched);
    requests.add(1, {
      route,
      method: METHODS.has(request.method) ? request.method : "other",
      status: `${Math.floor(response.status / 100)}xx`,
    });
    log.debug("Answered a request", {
      route,
      method: request.method,
      status: response.status,
      headMs: clock.monotonic() - startMs,
    });
    return response;
  }

  function match(request: Request, path: string): Matched {
    const { path: bare, source } = cutSourcePrefix(path);
    return {
      path,
      dialect: spokenDialect(request, bare),
      prefix: source,
      match: table.match(request.method, bare),
    };
  }

  async function answer(
    request: Request,
    info: ConnectionInfo,
    matched: Matched,
  ): Promise<Response> {
    const fields: HeadFields = new Map(request.headers);
    const reach = access.reach(request, fields);
    if (reach.kind === "refused") throw reach.fault;
    const { allowedOrigin } = reach;
    if (allowedOrigin !== null && isPreflight(request, fields)) {
      return preflightResponse(fields, allowedOrigin);
    }
    let response: Response;
    try {
      response = await admitted(
        request,
        fields,
        info,
        matched,
        reach.loopbackNamed,
      );
    } catch (thrown) {
      if (allowedOrigin === null) throw thrown;
      // A page that may call may read why it failed.
      response = failed(
        thrown,
        signalOf(request, info),
        patternOf(matched),
        matched.dialect,
      );
    }
    if (allowedOrigin !== null) allowOrigin(response, allowedOrigin);
    return request.method === "HEAD" ? await headOf(response) : response;
  }

  async function admitted(
    request: Request,
    fields: HeadFields,
    info: ConnectionInfo,
    { match, path, prefix, dialect }: Matched,
    loopbackNamed: boolean,
  ): Promise<Response> {
    const open = match.kind === "found" && match.target.scope === "open";
    const caller = open
      ? null
      : await access.identify(fields, info, loopbackNamed);
    if (caller?.kind === "refused") throw caller.fault;
    // Who owns the machine needs no protection from himself.
    if (caller !== null && caller.client !== "local") {
      limiter?.admit(caller.client, clock.monotonic());
    }
    switch (match.kind) {
      case "unknown":
        throw new Fault(
          "route_not_found",
          `There is no route ${request.method} ${path.slice(0, 200)}${
            routeHint(path.slice(0, 200), routes.map(({ pattern }) => pattern))
          }`,
        );
      case "wrong_method":
        return faultResponse(
          new Fault(
            "method_not_allowed",
            `${request.method} is not allowed on ${match.pattern}; allowed: ${
              match.allowed.join(", ")
            }`,
          ),
          dialect,
          { allow: match.allowed.join(", ") },
        );
      case "found": {
        const { scope } = match.target;
        if (scope !== "open" && caller?.scopes.has(scope) !== true) {
          throw new Fault(
            "forbidden",
            `This caller lacks the scope "${scope}"${
              scope === "admin"
                ? "; use a key that was made with `covey key add NAME --admin`"
                : ""
            }`,
          );
        }
        const { params } = match;
        const client = caller?.client ?? "open";
        return await match.target.handle(
          new AdmittedCall(request, info, { fields, params, prefix, client }),
        );
      }
      default: {
        const never: never = match;
        return never;
      }
    }
  }

  function failed(
    thrown: unknown,
    signal: AbortSignal,
    route: string,
    dialect: Dialect,
  ): Response {
    if (signal.aborted) {
      return new Response(null, { status: CLIENT_LEFT });
    }
    const fault = faultOf(thrown);
    if (fault.code !== "internal") return faultResponse(fault, dialect);
    const requestId = entropy.uuid();
    log.error("Failed to handle a request", {
      requestId,
      route,
      cause: describe(fault.cause),
    });
    return faultResponse(
      new Fault(
        "internal",
        `Covey failed to handle this request; its log says why under ${requestId}`,
      ),
      dialect,
    );
  }

  return { handle };
}

/** A class, since V8 keeps each object whose literal has an accessor until it collects all garbage. */
class AdmittedCall implements Call {
  readonly request: Request;
  readonly fields: HeadFields;
  readonly params: Call["params"];
  readonly prefix: Source;
  readonly client: string;
  readonly #info: ConnectionInfo;

  constructor(
    request: Request,
    info: ConnectionInfo,
    { fields, params, prefix, client }: Omit<Call, "request" | "signal">,
  ) {
    this.request = request;
    this.#info = info;
    this.fields = fields;
    this.params = params;
    this.prefix = prefix;
    this.client = client;
  }

  /** Made where somebody asks for it: that costs as much as placing a request. */
  get signal(): AbortSignal {
    return signalOf(this.request, this.#info);
  }
}

const UNMATCHED = "unmatched";

function patternOf({ match }: Matched): string {
  return match.kind === "unknown" ? UNMATCHED : match.pattern;
}

/** Two dialects have the routes of models; Anthropic's clients say which they speak. */
function spokenDialect({ headers }: Request, path: string): Dialect {
  return path.startsWith("/v1/models") && headers.has("anthropic-version")
    ? "anthropic"
    : dialectOf(path);
}

function isPreflight({ method }: Request, fields: HeadFields): boolean {
  return method === "OPTIONS" && fields.has("access-control-request-method");
}

async function headOf(response: Response): Promise<Response> {
  await response.body?.cancel();
  const { status, headers } = response;
  return new Response(null, { status, headers });
}

function describe(cause: unknown): string {
  if (cause instanceof Error) return cause.stack ?? cause.message;
  return String(cause);
}

/** Aborts when the client left, as far as request and socket can tell. */
function signalOf(request: Request, { left }: ConnectionInfo): AbortSignal {
  return left ?? request.signal;
}
