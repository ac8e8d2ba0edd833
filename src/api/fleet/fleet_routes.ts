import { Fault } from "../../domain/mod.ts";
import { checkContentType, jsonResponse } from "../admin_json.ts";
import type { ApiOptions, Handler } from "../context.ts";
import type { Route } from "../route_table.ts";
import type { RouteTarget } from "../route_target.ts";
import { degradationOf } from "./degradation.ts";
import { type FleetView, fleetView, type WorkerView } from "./worker_view.ts";

/**
 * The routes that show the members as workers and drain them.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes.
 */
export function createFleetRoutes(
  options: Pick<ApiOptions, "router" | "members" | "clock" | "self">,
): readonly Route<RouteTarget>[] {
  const { router, members, clock, self } = options;
  const fleet = (): FleetView =>
    fleetView(members(), router.standing(), clock.now());

  const drain = (draining: boolean): Handler => ({ params, request }) => {
    checkContentType(request);
    const worker = findWorker(fleet(), params.worker ?? "");
    if (worker.id !== self.id) {
      throw new Fault(
        "not_implemented",
        `Only a node itself can be ${
          draining ? "drained" : "taken back"
        } in this build: send this request to "${worker.name}"`,
      );
    }
    router.drain(draining);
    return jsonResponse(statusOf(findWorker(fleet(), worker.id)));
  };

  return [
    read("/fleet/health", () => jsonResponse(fleet())),
    read("/fleet/status", () => {
      const { available, total, workers } = fleet();
      return jsonResponse({
        available,
        total,
        degradation: degradationOf({ available, total }),
        draining: workers.filter((one) => one.draining).length,
        inFlight: workers.reduce((sum, one) => sum + one.inFlight, 0),
      });
    }),
    read("/fleet/workers", () => jsonResponse({ workers: fleet().workers })),
    read(
      "/fleet/workers/{worker}/status",
      ({ params }) =>
        jsonResponse(statusOf(findWorker(fleet(), params.worker ?? ""))),
    ),
    change("/fleet/workers/{worker}/drain", drain(true)),
    change("/fleet/workers/{worker}/undrain", drain(false)),
  ];
}

function read(pattern: string, handle: Handler): Route<RouteTarget> {
  return { method: "GET", pattern, target: { scope: "read", handle } };
}

function change(pattern: string, handle: Handler): Route<RouteTarget> {
  return { method: "POST", pattern, target: { scope: "admin", handle } };
}

function statusOf(worker: WorkerView): Record<string, unknown> {
  return { ...worker, in_flight_tasks: worker.inFlight };
}

function findWorker({ workers }: FleetView, wanted: string): WorkerView {
  const lower = wanted.toLowerCase();
  const named = workers.filter((one) => one.name.toLowerCase() === lower);
  const found = workers.find((one) => one.id === lower) ??
    (named.length === 1 ? named[0] : undefined);
  if (found !== undefined) return found;
  throw new Fault(
    "not_found",
    named.length > 1
      ? `${named.length} workers are called "${wanted}"; give an id of GET /fleet/workers`
      : `No worker is called "${
        wanted.slice(0, 100)
      }"; GET /fleet/workers lists them`,
  );
}
