import { Fault, parseDecisionId } from "../domain/mod.ts";
import type { ApiOptions, Handler } from "./context.ts";
import { pinSource, settleSource } from "./request_source.ts";
import { findModel, modelObject, modelsInReach } from "./openai/models.ts";

/**
 * The handlers that tell how things stand and change nothing.
 *
 * @param options What the API is built from.
 * @returns A handler by its purpose.
 */
export function createStatusHandlers(options: ApiOptions): {
  readonly root: Handler;
  readonly alive: Handler;
  readonly ready: Handler;
  readonly metrics: Handler;
  readonly members: Handler;
  readonly decision: Handler;
  readonly models: Handler;
  readonly model: Handler;
} {
  const startedSeconds = Math.floor(options.clock.now() / 1000);

  const inReach: (call: Parameters<Handler>[0]) => ReturnType<
    typeof modelsInReach
  > = ({ request, prefix }) =>
    modelsInReach(
      options.router.models(),
      pinSource(
        settleSource({
          body: undefined,
          header: request.headers.get("x-covey-source"),
          prefix,
        }),
        options.members(),
      ),
      options.self.id,
      options.members(),
    );

  return {
    root: () =>
      new Response("Covey is running\n", {
        headers: { "content-type": "text/plain; charset=utf-8" },
      }),
    alive: () => json({ status: "ok" }),
    ready() {
      const readiness = options.ready();
      return readiness.kind === "ready"
        ? json({ status: "ready" })
        : json({ status: "starting", waitingFor: readiness.waitingFor }, 503);
    },
    async metrics() {
      return new Response(await options.renderMetrics(), {
        headers: {
          "content-type": "text/plain; version=0.0.4; charset=utf-8",
          "cache-control": "no-store",
        },
      });
    },
    members: () =>
      json({
        cluster: options.hasCluster() ? { id: options.clusterId() } : null,
        members: options.members().map((member) => ({
          id: member.id,
          name: member.name,
          self: member.self,
          health: member.health.toUpperCase(),
          draining: member.draining,
          addresses: member.addresses,
          version: member.version,
          state: member.state ?? "member",
          role: member.role ?? "node",
          seat: member.seat ?? null,
          note: member.note ?? null,
          machine: member.machine,
          conditions: member.conditions,
        })),
      }),
    decision({ params }) {
      const text = params.id ?? "";
      const id = parseDecisionId(text);
      const record = id === undefined ? undefined : options.router.decision(id);
      if (record === undefined) {
        throw new Fault(
          "not_found",
          `No decision "${
            text.slice(0, 100)
          }" is in this node's log; the node that answered the request keeps it, for the latest requests only`,
        );
      }
      return json(record);
    },
    models: (call) =>
      json({
        object: "list",
        data: inReach(call).map((one) => modelObject(one, startedSeconds)),
      }),
    model: (call) =>
      json(
        modelObject(
          findModel(inReach(call), call.params.id ?? ""),
          startedSeconds,
        ),
      ),
  };
}

function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
    },
  });
}
