import { Fault, type ModelForecasts } from "../domain/mod.ts";
import { jsonResponse, readAdminBody } from "./admin_json.ts";
import type { ApiOptions } from "./context.ts";
import { memoryRow } from "./memory_views.ts";
import { fitRows, forecastRows } from "./fit_view.ts";
import { pinSource } from "./request_source.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/** Longest look at a model elsewhere: its caller waits a little longer. */
const FORECAST_LIMIT_MS = 25_000;

/**
 * The routes about models in memory: what is there, whether one fits, and what
 * takes one out.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes.
 */
export function createMemoryRoutes(
  options: Pick<ApiOptions, "router" | "members" | "clock" | "forecasts">,
): readonly Route<RouteTarget>[] {
  const { clock, forecasts, members, router } = options;
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
    ...forecasts === undefined
      ? []
      : [createForecastRoute(forecasts, members, clock)],
    {
      method: "POST",
      pattern: "/covey/models/{model}/unload",
      target: {
        scope: "admin",
        async handle({ params, request, signal }) {
          const body = await readAdminBody(request, clock, {
            mayBeEmpty: true,
          });
          const { UNLOAD_BODY } = await import("./admin_bodies.ts");
          const { node } = UNLOAD_BODY.read(body);
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

/** It wants the scope of pulls: a node that asks where a stranger says is a way into its network. */
function createForecastRoute(
  forecasts: ModelForecasts,
  members: ApiOptions["members"],
  clock: ApiOptions["clock"],
): Route<RouteTarget> {
  return {
    method: "POST",
    pattern: "/covey/fit",
    target: {
      scope: "admin",
      async handle({ request, signal }) {
        const body = await readAdminBody(request, clock);
        const { FORECAST_BODY } = await import("./admin_bodies.ts");
        const { revision, source } = FORECAST_BODY.read(body);
        using deadline = clock.deadline(FORECAST_LIMIT_MS, signal);
        try {
          const forecast = await forecasts.forecast(
            { source, ...revision === undefined ? {} : { revision } },
            deadline.signal,
          );
          const { model, quantisation, readBytes, sizeBytes } = forecast;
          return jsonResponse({
            model,
            source,
            quantisation,
            sizeBytes,
            readBytes,
            nodes: forecastRows(forecast, members()),
          });
        } catch (error) {
          signal.throwIfAborted();
          if (!deadline.signal.aborted) throw error;
          throw new Fault(
            "hub_failed",
            `The source gave no header within ${
              FORECAST_LIMIT_MS / 1_000
            } s; try again, or name a nearer one in HF_ENDPOINT`,
          );
        }
      },
    },
  };
}

function notHere(model: string): Fault {
  return new Fault(
    "model_not_found",
    `No model is called "${
      model.slice(0, 200)
    }"; GET /v1/models and /api/tags list those there are`,
    { param: "model" },
  );
}
