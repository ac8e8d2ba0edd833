import type { Log, NodeId, Secret } from "../../domain/mod.ts";
import type { Clock } from "../../platform/mod.ts";
import {
  createUpstreamEngine,
  type UpstreamEngine,
} from "../upstream/upstream_engine.ts";
import { type Fetch, UpstreamHttp } from "../upstream/upstream_http.ts";
import { type ProviderName, PROVIDERS } from "./provider_table.ts";

/** A provider's models hardly change; asking for them costs nothing. */
const REFRESH_EVERY_MS = 600_000;
/** With the machine's other conditions (design.md 6, health). */
const REACH_EVERY_MS = 30_000;

/** A provider that the operator named and has a key of. */
export interface ProviderAccount {
  readonly name: ProviderName;
  readonly key: Secret;
}

/** What a provider's engine is made of. */
export interface ProviderEngineOptions {
  readonly account: ProviderAccount;
  /** Whether peers may spend the key. */
  readonly isLent: boolean;
  readonly node: NodeId;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: Fetch;
}

/**
 * Make the engine of a provider. Its models are called `provider/model`, and
 * nothing but such a name brings a request there. One engine is one key, so
 * that a cooldown after a 429 is that of the quota.
 *
 * @param options The account and ports.
 * @returns The engine. Disposing of it breaks off what runs.
 */
export function createProviderEngine(
  options: ProviderEngineOptions,
): UpstreamEngine {
  const { account: { name, key }, isLent, clock, fetch, ...rest } = options;
  const facts = PROVIDERS[name];
  const http = new UpstreamHttp({
    url: {
      origin: new URL(facts.base).origin,
      root: facts.base,
      openai: facts.base,
    },
    clock,
    fetch,
    key: key.reveal(),
    ...(facts.listHeaders === undefined
      ? {}
      : { probeHeaders: facts.listHeaders(key.reveal()) }),
  });
  return createUpstreamEngine({
    ...rest,
    id: name,
    http,
    profile: async () =>
      (await import("./provider_profile.ts")).providerProfile(facts),
    refreshEveryMs: REFRESH_EVERY_MS,
    reachEveryMs: REACH_EVERY_MS,
    prefix: `${name}/`,
    isPaid: true,
    isPrivate: !isLent,
    clock,
  });
}
