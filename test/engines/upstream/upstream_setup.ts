import { ManualClock } from "../../../src/platform/mod.ts";
import type { UpstreamKind } from "../../../src/engines/upstream/upstream_profile.ts";
import {
  createUpstreams,
  type Upstreams,
  type UpstreamsOptions,
} from "../../../src/engines/upstream/upstreams.ts";
import { createOwnFetch } from "../../../src/engines/own_fetch.ts";
import { createRouter, type OwnedRouter } from "../../../src/router/mod.ts";
import type { InferenceRequest } from "../../../src/domain/mod.ts";
import { createSeededEntropy } from "../../../src/platform/mod.ts";
import { chatRequest } from "../../fakes/chat_request.ts";
import { CountingMetrics } from "../../fakes/counting_metrics.ts";
import { QuietLog } from "../../fakes/quiet_log.ts";
import { nodeIdOf } from "../../fakes/scripted_engine.ts";

/** Upstreams of a test behind a router, on a clock that stands still. */
export interface UpstreamSetup extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly log: QuietLog;
  readonly metrics: CountingMetrics;
  readonly upstreams: Upstreams;
  readonly router: OwnedRouter;
  /** Ask, and read the answer to its end. */
  ask(
    request?: Partial<InferenceRequest>,
  ): Promise<{ readonly status: number; readonly text: string }>;
}

/** Set up engines in front of one named server, or of those found at ports. */
export async function setUpUpstreams(
  where:
    | { readonly kind: UpstreamKind; readonly url: string }
    | Pick<UpstreamsOptions, "ports" | "ownPorts">,
  more: Pick<UpstreamsOptions, "capabilities"> = {},
): Promise<UpstreamSetup> {
  const clock = new ManualClock();
  const log = new QuietLog();
  const metrics = new CountingMetrics();
  const node = nodeIdOf(1);
  const own = createOwnFetch(clock);
  const upstreams = createUpstreams({
    ...("url" in where
      ? { named: [{ name: "up", ...where }], ownPorts: [] }
      : { named: null, ...where }),
    ...more,
    takenIds: [],
    node,
    nodeName: "node-1",
    clock,
    log,
    fetch: own.fetch,
    plain: own.plain,
  });
  await upstreams.look();
  const router = createRouter({
    self: { id: node, name: "node-1" },
    localEngines: [],
    foundEngines: () => upstreams.engines(),
    peers: () => [],
    policy: "local_first",
    maxQueue: 64,
    clock,
    entropy: createSeededEntropy(7),
    log,
    metrics,
  });
  return {
    clock,
    log,
    metrics,
    upstreams,
    router,
    async ask(request = {}) {
      const answer = await router.route(
        chatRequest(request),
        new AbortController().signal,
      );
      const text = await new Response(answer.body).text();
      return { status: answer.status, text };
    },
    async [Symbol.asyncDispose]() {
      await router[Symbol.asyncDispose]();
      await upstreams[Symbol.asyncDispose]();
      own[Symbol.dispose]();
    },
  };
}
