import { type DecisionRecord, Fault, parseDecisionId } from "../domain/mod.ts";
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
  readonly decisions: Handler;
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
          }" is in this node's log; the node that was called keeps it, for its latest requests only`,
        );
      }
      const { chosen, model } = record;
      const help = options.copyHelp?.(chosen?.model ?? model) ?? null;
      return json(help === null ? record : { ...record, help });
    },
    decisions: ({ request }) => {
      const said = new URL(request.url).searchParams.get("limit");
      const limit = said === null ? DECISIONS_UNLESS_SAID : Number(said);
      if (!Number.isInteger(limit) || limit < 1 || limit > MOST_DECISIONS) {
        throw new Fault(
          "invalid_request",
          `limit is "${
            (said ?? "").slice(0, 100)
          }"; give a whole number from 1 to ${MOST_DECISIONS}`,
          { param: "limit" },
        );
      }
      return lines(options.router.latestDecisions(limit));
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

const DECISIONS_UNLESS_SAID = 100;
/** As many as the log keeps. */
const MOST_DECISIONS = 1000;

/** One JSON object a line, written as the reader takes them: a thousand together may be 30 MB. */
function lines(records: readonly DecisionRecord[]): Response {
  const encoder = new TextEncoder();
  let next = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const record = records[next++];
      if (record === undefined) controller.close();
      else controller.enqueue(encoder.encode(`${JSON.stringify(record)}\n`));
    },
  });
  return new Response(body, {
    headers: {
      "content-type": "application/x-ndjson",
      "cache-control": "no-store",
    },
  });
}

function speaksAnthropic({ fields }: Call): boolean {
  return fields.has("anthropic-version");
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
