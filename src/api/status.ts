import { Fault, parseDecisionId } from "../domain/mod.ts";
import { modelPage, modelRow } from "./anthropic/models.ts";
import type { ApiOptions, Call, Handler } from "./context.ts";
import { listingsFor } from "./model_reach.ts";
import { findModel, modelObject } from "./openai/models.ts";

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

  const inReach = (call: Call) => listingsFor(call, options);

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
          tier: member.tier ?? null,
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
    // Both dialects have this path; Anthropic's clients say which they speak.
    models: (call) => {
      const models = inReach(call);
      return json(
        speaksAnthropic(call) ? modelPage(models, startedSeconds) : {
          object: "list",
          data: models.map((one) => modelObject(one, startedSeconds)),
        },
      );
    },
    model: (call) => {
      const found = findModel(inReach(call), call.params.id ?? "");
      const write = speaksAnthropic(call) ? modelRow : modelObject;
      return json(write(found, startedSeconds));
    },
  };
}

function speaksAnthropic({ request }: Call): boolean {
  return request.headers.has("anthropic-version");
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
