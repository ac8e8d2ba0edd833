import { Fault, type JsonObject } from "../domain/mod.ts";
import { checkContentType, jsonResponse } from "./admin_json.ts";
import { type BodyBounds, readBody } from "./body.ts";
import type { ApiOptions } from "./context.ts";
import { parseJsonObject } from "./json_body.ts";
import { memoryRow } from "./memory_views.ts";
import { fitRows } from "./fit_view.ts";
import { pinSource } from "./request_source.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/** Room for a name. */
const BOUNDS: BodyBounds = {
  limitBytes: 16 * 1024,
  idleMs: 10_000,
  totalMs: 20_000,
};

/**
 * The routes about models in memory: what is there, whether one fits, and what
 * takes one out.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes.
 */
export function createMemoryRoutes(
  options: Pick<ApiOptions, "router" | "members" | "clock">,
): readonly Route<RouteTarget>[] {
  const { clock, members, router } = options;
  return [
    {
      method: "GET",
      pattern: "/covey/memory",
      target: {
        scope: "read",
        handle: () =>
          jsonResponse({
            models: router.offers().flatMap((one) => memoryRow(one) ?? []),
          }),
      },
    },
    {
      method: "GET",
      pattern: "/covey/fit/{model…}",
      target: {
        scope: "read",
        handle({ params }) {
          const { model = "" } = params;
          const offers = router.offers(model);
          if (offers.length === 0) throw notHere(model);
          return jsonResponse({ model, nodes: fitRows(offers, members()) });
        },
      },
    },
    {
      method: "POST",
      pattern: "/covey/models/{model}/unload",
      target: {
        scope: "admin",
        async handle({ params, request, signal }) {
          checkContentType(request);
          const bytes = await readBody(request, BOUNDS, clock);
          const { node } = bytes.length === 0
            ? ({} as JsonObject)
            : parseJsonObject(bytes);
          if (node !== undefined && typeof node !== "string") {
            throw new Fault(
              "invalid_request",
              '"node" must be the name or id of a member',
              { param: "node" },
            );
          }
          const { model = "" } = params;
          const source = node === undefined
            ? { kind: "cluster" as const }
            : pinSource({ kind: "node", node }, members());
          const outcomes = await router.unload(
            model,
            { source, evenPinned: true },
            signal,
          );
          return jsonResponse({ model, outcomes });
        },
      },
    },
  ];
}

function notHere(model: string): Fault {
  return new Fault(
    "model_not_found",
    `No model is called "${
      model.slice(0, 200)
    }"; GET /v1/models lists those there are`,
    { param: "model" },
  );
}
