import {
  Fault,
  type JsonObject,
  type ModelPulls,
  type PullRequest,
  type PullView,
} from "../domain/mod.ts";
import { checkContentType, jsonResponse, readAdminBody } from "./admin_json.ts";
import type { ApiOptions, Handler } from "./context.ts";
import { progressResponse } from "./progress_lines.ts";
import { createProgressTeller } from "./progress_teller.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

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
      const body = await readAdminBody(request, clock);
      const { PULL_BODY } = await import("./admin_bodies.ts");
      const { source, revision, max_bytes_per_second: most } = PULL_BODY.read(
        body,
      );
      const wanted: PullRequest = {
        source,
        ...(revision === undefined ? {} : { revision }),
        ...(most === undefined ? {} : { maxBytesPerSecond: most }),
      };
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
  using teller = createProgressTeller<PullView>(
    clock,
    (view) => tell({ status: view.stage, ...view }),
    (view, last) => view.stage !== last?.stage || view.note !== last?.note,
  );
  const outcome = await pulls.pull(request, teller.say, signal);
  return { status: "success", ...outcome };
}

function unknownPull(id: string): Fault {
  return new Fault("not_found", `There is no pull "${id.slice(0, 80)}"`);
}
