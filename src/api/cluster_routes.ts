import type { ClusterAction, JsonObject } from "../domain/mod.ts";
import { jsonResponse, readAdminBody } from "./admin_json.ts";
import type { ApiOptions, Handler } from "./context.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/** Room for a token with every address it may hold. */
const BODY = { limitBytes: 64 * 1024, mayBeEmpty: true };

/**
 * The routes by which an operator acts on the cluster. What changes something
 * wants the scope `admin` and `application/json`; what only looks wants `read`.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes.
 */
export function createClusterRoutes(
  options: Pick<ApiOptions, "act" | "clock">,
): readonly Route<RouteTarget>[] {
  const { act, clock } = options;
  const look = (action: ClusterAction): Route<RouteTarget> => ({
    method: "GET",
    pattern: `/cluster/${action}`,
    target: {
      scope: "read",
      handle: async ({ request }) =>
        jsonResponse(await act(action, {}, request.signal)),
    },
  });
  const change = (
    method: "POST" | "DELETE",
    pattern: string,
    action: ClusterAction,
    more: (params: Parameters<Handler>[0]["params"]) => JsonObject = () => ({}),
  ): Route<RouteTarget> => ({
    method,
    pattern,
    target: {
      scope: "admin",
      async handle({ params, request }) {
        const body = await readAdminBody(request, clock, BODY);
        return jsonResponse(
          await act(action, { ...body, ...more(params) }, request.signal),
        );
      },
    },
  });
  return [
    change("POST", "/cluster/invites", "invite"),
    change("POST", "/cluster/join", "join"),
    change("POST", "/cluster/leave", "leave"),
    change("POST", "/cluster/door", "door"),
    change(
      "DELETE",
      "/cluster/members/{member}",
      "remove",
      ({ member }) => ({ member }),
    ),
    change("POST", "/cluster/copies", "copy"),
    change(
      "DELETE",
      "/cluster/copies/{id}",
      "cancel_copy",
      ({ id }) => ({ id }),
    ),
    change(
      "POST",
      "/cluster/copies/{id}/pause",
      "pause_copy",
      ({ id }) => ({ id }),
    ),
    change(
      "POST",
      "/cluster/copies/{id}/resume",
      "resume_copy",
      ({ id }) => ({ id }),
    ),
    look("copies"),
    look("doctor"),
    look("audit"),
  ];
}
