import { type ClusterAction, Fault, findMembers } from "../../domain/mod.ts";
import {
  checkContentType,
  jsonResponse,
  readAdminBody,
} from "../admin_json.ts";
import type { ApiOptions, Handler } from "../context.ts";
import type { Route } from "../route_table.ts";
import type { RouteTarget } from "../route_target.ts";
import { degradationOf } from "./degradation.ts";
import { type FleetView, fleetView, type WorkerView } from "./worker_view.ts";

/**
 * The routes that show the members as workers, drain them, remove them and
 * look at all of them anew.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes.
 */
export function createFleetRoutes(
  options: Pick<
    ApiOptions,
    "act" | "clock" | "drain" | "hasCluster" | "members" | "router" | "self"
  >,
): readonly Route<RouteTarget>[] {
  const { router, members, clock, self } = options;
  const fleet = (): FleetView =>
    fleetView(members(), router.standing(), clock.now());

  const drain = (draining: boolean): Handler => async ({ params, request }) => {
    checkContentType(request);
    const { id } = findWorker(fleet(), params.worker ?? "");
    if (id !== self.id) {
      await options.act("drain", { member: id, draining }, request.signal);
    } else if (options.drain !== undefined) await options.drain(draining);
    else router.drain(draining);
    return jsonResponse(statusOf(findWorker(fleet(), id)));
  };

  /** As `DELETE /cluster/members/{member}`, but of workers alone. */
  const remove: Handler = async ({ params, request }) => {
    const body = await readAdminBody(request, clock, { mayBeEmpty: true });
    const { id } = findWorker(fleet(), params.worker ?? "");
    const action: ClusterAction = "remove";
    return jsonResponse(
      await options.act(action, { ...body, member: id }, request.signal),
    );
  };

  const refresh: Handler = async ({ request }) => {
    checkContentType(request);
    if (options.hasCluster()) await options.act("refresh", {}, request.signal);
    return jsonResponse(fleet());
  };

  return [
    read("/fleet/health", () => jsonResponse(fleet())),
    read("/fleet/status", () => jsonResponse(summaryOf(fleet()))),
    read("/fleet/workers", () => jsonResponse({ workers: fleet().workers })),
    read(
      "/fleet/workers/{worker}/status",
      ({ params }) =>
        jsonResponse(statusOf(findWorker(fleet(), params.worker ?? ""))),
    ),
    change("POST", "/fleet/workers/refresh", refresh),
    change("POST", "/fleet/workers/{worker}/drain", drain(true)),
    change("POST", "/fleet/workers/{worker}/undrain", drain(false)),
    change("DELETE", "/fleet/workers/{worker}", remove),
  ];
}

function read(pattern: string, handle: Handler): Route<RouteTarget> {
  return { method: "GET", pattern, target: { scope: "read", handle } };
}

function change(
  method: "POST" | "DELETE",
  pattern: string,
  handle: Handler,
): Route<RouteTarget> {
  return { method, pattern, target: { scope: "admin", handle } };
}

function statusOf(worker: WorkerView): Record<string, unknown> {
  return { ...worker, in_flight_tasks: worker.inFlight };
}

function summaryOf({ available, total, workers }: FleetView) {
  const inTier = (tier: number | null) =>
    workers.filter((one) => one.tier === tier).length;
  return {
    available,
    total,
    degradation: degradationOf({ available, total }),
    draining: workers.filter((one) => one.draining).length,
    inFlight: workers.reduce((sum, one) => sum + one.inFlight, 0),
    tiers: { 1: inTier(1), 2: inTier(2), 3: inTier(3), unknown: inTier(null) },
  };
}

function findWorker({ workers }: FleetView, wanted: string): WorkerView {
  const [found, ...others] = findMembers(workers, wanted);
  if (found !== undefined && others.length === 0) return found;
  const shown = wanted.slice(0, 100);
  throw new Fault(
    "not_found",
    found === undefined
      ? `No worker is called "${shown}"; \`covey members\` and GET /fleet/workers list them`
      : `${others.length + 1} workers are called "${shown}"; write one of ${
        [found, ...others].map(({ id }) => id).join(", ")
      }`,
  );
}
