import {
  Fault,
  type JsonObject,
  type ModelPulls,
  type PullRequest,
  type PullView,
} from "../domain/mod.ts";
import { checkContentType, jsonResponse } from "./admin_json.ts";
import { type BodyBounds, readBody } from "./body.ts";
import type { ApiOptions, Handler } from "./context.ts";
import { parseJsonObject } from "./json_body.ts";
import { progressResponse } from "./progress_lines.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/** Room for a URL. */
const BOUNDS: BodyBounds = {
  limitBytes: 16 * 1024,
  idleMs: 10_000,
  totalMs: 20_000,
};
/** Progress is told that often, however many pieces arrive. */
const TELL_EVERY_MS = 250;
/** A pull that waits for its source says so, lest a client takes it for dead. */
const TELL_ANYWAY_MS = 10_000;
const SLOWEST_BYTES_PER_SECOND = 1_024;

/**
 * The routes by which an operator has models fetched. They want the scope
 * `admin`: a node that fetches what a stranger names is a way into its network.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes; none where nothing can be fetched.
 */
export function createPullRoutes(
  options: Pick<ApiOptions, "clock" | "log" | "pulls">,
): readonly Route<RouteTarget>[] {
  const { clock, log, pulls } = options;
  if (pulls === undefined) return [];
  const admin = (
    method: string,
    pattern: string,
    handle: Handler,
  ): Route<RouteTarget> => ({
    method,
    pattern,
    target: { scope: "admin", handle },
  });
  return [
    admin("GET", "/covey/pulls", () => jsonResponse({ pulls: pulls.list() })),
    admin("POST", "/covey/pulls", async ({ request, signal }) => {
      checkContentType(request);
      const body = parseJsonObject(await readBody(request, BOUNDS, clock));
      const wanted = requestOf(body);
      return progressResponse(
        (tell, ends) => watchPull({ clock, pulls }, wanted, tell, ends),
        signal,
        log,
      );
    }),
    admin("DELETE", "/covey/pulls/{id}", async ({ params, request }) => {
      checkContentType(request);
      const { id = "" } = params;
      if (await pulls.cancel(id)) return jsonResponse({ cancelled: id });
      throw unknownPull(id);
    }),
    admin("POST", "/covey/pulls/{id}/pause", async ({ params, request }) => {
      checkContentType(request);
      const { id = "" } = params;
      if (await pulls.pause(id)) return jsonResponse({ paused: id });
      throw unknownPull(id);
    }),
    admin("POST", "/covey/pulls/{id}/resume", async ({ params, request }) => {
      checkContentType(request);
      const { id = "" } = params;
      if (await pulls.unpause(id)) return jsonResponse({ resumed: id });
      throw unknownPull(id);
    }),
  ];
}

/**
 * Pull a model and tell of it line by line.
 *
 * @param ports Clock and pulls.
 * @param request What to pull.
 * @param tell Writes a line.
 * @param signal Aborting it ends the watching.
 * @returns The last line.
 * @throws {Fault} When it can not be pulled.
 */
export async function watchPull(
  { clock, pulls }: Pick<ApiOptions, "clock"> & { readonly pulls: ModelPulls },
  request: PullRequest,
  tell: (line: JsonObject) => void,
  signal: AbortSignal,
): Promise<JsonObject> {
  let toldMs = -Infinity;
  let last: PullView | null = null;
  const say = (view: PullView) => {
    const isNews = view.stage !== last?.stage || view.note !== last?.note;
    last = view;
    if (!isNews && clock.monotonic() - toldMs < TELL_EVERY_MS) return;
    toldMs = clock.monotonic();
    tell({ status: view.stage, ...view });
  };
  using _reminder = clock.every(TELL_ANYWAY_MS, () => {
    if (last !== null) say(last);
  });
  const outcome = await pulls.pull(request, say, signal);
  return { status: "success", ...outcome };
}

function unknownPull(id: string): Fault {
  return new Fault("not_found", `There is no pull "${id.slice(0, 80)}"`);
}

function requestOf(body: JsonObject): PullRequest {
  const { max_bytes_per_second: limit, revision, source } = body;
  if (
    typeof source !== "string" ||
    (revision !== undefined && typeof revision !== "string") ||
    (limit !== undefined &&
      !(typeof limit === "number" && limit >= SLOWEST_BYTES_PER_SECOND))
  ) {
    throw new Fault(
      "invalid_request",
      `A pull wants {"source": "org/repo[:quantisation]" or a URL}, and may have "revision" and "max_bytes_per_second" of at least ${SLOWEST_BYTES_PER_SECOND}`,
    );
  }
  return {
    source,
    ...(revision === undefined ? {} : { revision }),
    ...(limit === undefined ? {} : { maxBytesPerSecond: limit }),
  };
}
