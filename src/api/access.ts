/**
 * Who a caller is: holder of a key of COVEY_API_KEYS or of a named key, a program
 * of this machine, or someone in a network that needs no key; behind a proxy only
 * what is open to everyone is. The sentences of that rule are held against the
 * whole table of routes by `test/api/public_side_test.ts`.
 *
 * @module
 */
import {
  Fault,
  isInNetwork,
  type Network,
  type Secret,
} from "../domain/mod.ts";
import type { ClientKeys } from "../store/client_keys.ts";
import { createAnonymousTag } from "./anonymous_tag.ts";
import type { HeadFields } from "./head_fields.ts";
import { isLoopback, parseHost } from "./host_name.ts";

/** What a caller may do (design.md 7). */
export type Scope = "infer" | "read" | "admin";

/** Who may call, as the operator said. */
export interface AccessRules {
  /** Client keys; each gives `infer` and `read`. */
  readonly apiKeys: readonly Secret[];
  /** Where a caller without a key gets `infer` and `read`; none for nowhere. */
  readonly allowAnonymous: readonly Network[];
  /** Host names accepted beside addresses, localhost, the own name, *.local and *.internal. */
  readonly allowedHosts: readonly string[];
  /** Origins of other web pages that may call, for example `https://chat.example`. */
  readonly allowedOrigins: readonly string[];
  /** Whether a caller on this machine needs no key. */
  readonly trustLoopback: boolean;
}

/** Both ends of the connection, as addresses. */
export interface ConnectionInfo {
  /** Aborts when the client is known to have left; where it is absent the request's own signal tells. */
  readonly left?: AbortSignal;
  /** Address of the caller. */
  readonly remoteHost: string;
  /** Address that was called. */
  readonly localHost: string;
}

/** Where a request says it comes from and goes to. */
export type Reach =
  | {
    readonly kind: "accepted";
    /** The Origin header where it is another page's and was allowed, else null. */
    readonly allowedOrigin: string | null;
    /** Whether Host is a loopback name and Origin absent or our own. */
    readonly loopbackNamed: boolean;
  }
  | { readonly kind: "refused"; readonly fault: Fault };

/** Who a caller is. */
export type Caller =
  | {
    readonly kind: "known";
    readonly scopes: ReadonlySet<Scope>;
    /** Opaque tag for fairness between clients. */
    readonly client: string;
  }
  | { readonly kind: "refused"; readonly fault: Fault };

/** Decides who gets in. Holds no state that changes, but asks the named keys each time. */
export interface Access {
  /** Check Host and Origin: a web page must not reach us through a name it made up. */
  reach(request: Request, fields: HeadFields): Reach;
  /** Tell who calls, and what that caller may do. */
  identify(
    fields: HeadFields,
    info: ConnectionInfo,
    loopbackNamed: boolean,
  ): Promise<Caller>;
}

/** More spellings of this node's name than this are judged anew each time. */
const MOST_HOSTS = 256;
const LONGEST_HOST = 300;
const EVERYTHING: ReadonlySet<Scope> = new Set(["infer", "read", "admin"]);
const USE: ReadonlySet<Scope> = new Set(["infer", "read"]);
const LOCAL: Caller = { kind: "known", scopes: EVERYTHING, client: "local" };

/** Headers by which a proxy shows itself: behind it, loopback proves nothing. */
const PROXIED = /^(?:forwarded|x-forwarded-.*|x-real-ip|via|cf-.*)$/;

/**
 * Build the gate.
 *
 * @param rules Who may call.
 * @param ownName This host's name.
 * @param named Keys that the operator gave by name, beside those of the rules; null where none are kept.
 * @param tag Draws what opaque tags are made of, one of each key's client; never made from the key, which members could then guess at.
 * @returns The gate.
 */
export function createAccess(
  rules: AccessRules,
  ownName: string,
  named: ClientKeys | null,
  tag: () => string,
): Access {
  const hosts = new Set(
    [...rules.allowedHosts, ownName].map((host) => host.toLowerCase()),
  );
  const origins = new Set(rules.allowedOrigins.map(normalOrigin));
  const encoder = new TextEncoder();
  const keys = rules.apiKeys.map((key) => ({
    bytes: encoder.encode(key.reveal()),
    client: `key-${tag()}`,
  }));
  const anonymousTag = createAnonymousTag(encoder.encode(tag() + tag()));

  /** How a Host header alone is taken, by its text: nearly all callers send the same few. */
  const known = new Map<string, Reach>();

  function reach(request: Request, fields: HeadFields): Reach {
    const header = fields.get("host") ?? new URL(request.url).host;
    const origin = fields.get("origin");
    if (origin !== undefined) return judge(header, origin);
    const before = known.get(header);
    if (before !== undefined) return before;
    const judged = judge(header, null);
    if (
      judged.kind === "accepted" && known.size < MOST_HOSTS &&
      header.length <= LONGEST_HOST
    ) {
      known.set(header, judged);
    }
    return judged;
  }

  function judge(header: string, origin: string | null): Reach {
    const host = parseHost(header);
    if (
      host === undefined ||
      !(host.literal || isAcceptedName(host.name, hosts))
    ) {
      return refuseReach(
        `The host name "${
          header.slice(0, 100)
        }" is not accepted here; add it to COVEY_ALLOWED_HOSTS, or call by address`,
      );
    }
    const loopback = isLoopback(host.name);
    if (origin === null || isOwnOrigin(origin, header)) {
      return {
        kind: "accepted",
        allowedOrigin: null,
        loopbackNamed: loopback,
      };
    }
    if (!origins.has(normalOrigin(origin))) {
      return refuseReach(
        `Pages of the origin "${
          origin.slice(0, 100)
        }" may not call this node; add it to COVEY_ALLOWED_ORIGINS`,
      );
    }
    return { kind: "accepted", allowedOrigin: origin, loopbackNamed: false };
  }

  async function identify(
    fields: HeadFields,
    info: ConnectionInfo,
    loopbackNamed: boolean,
  ): Promise<Caller> {
    const proxied = isProxied(fields);
    const local = rules.trustLoopback && loopbackNamed &&
      isLoopback(info.remoteHost) && isLoopback(info.localHost) && !proxied;
    const hasKeys = keys.length > 0 || (named?.list().length ?? 0) > 0;
    const presented = presentedKey(fields);
    // Programs that insist on a key send any: where none is configured it says nothing.
    if (presented !== null && hasKeys) {
      const bytes = encoder.encode(presented);
      let client: string | undefined;
      for (const key of keys) {
        if (equalInConstantTime(key.bytes, bytes)) client = key.client;
      }
      const key = named === null || named.list().length === 0
        ? null
        : await named.find(presented);
      if (key !== null) client = `key-${key.tag}`;
      if (client === undefined) {
        return refuseCaller(
          "The API key is not one of this node's; `covey key list` there names those it has",
        );
      }
      const scopes = local || key?.admin === true ? EVERYTHING : USE;
      return { kind: "known", scopes, client };
    }
    if (local) return LOCAL;
    if (isWelcome(info.remoteHost, proxied)) {
      return {
        kind: "known",
        scopes: USE,
        client: await anonymousTag(info.remoteHost),
      };
    }
    return refuseCaller(
      hasKeys
        ? "This node asks for an API key; send it as authorization: Bearer <key>, or as x-api-key"
        : "This node asks for an API key and has none yet; make one there with `covey key add NAME`, or set COVEY_API_KEYS or COVEY_ALLOW_ANONYMOUS",
    );
  }

  /** Behind a proxy the caller's address is not known, so that only what is open to all is open. */
  function isWelcome(remoteHost: string, proxied: boolean): boolean {
    return rules.allowAnonymous.some((network) =>
      isInNetwork(remoteHost, network) &&
      (!proxied || network.prefixBits === 0)
    );
  }

  return { reach, identify };
}

function refuseReach(message: string): Reach {
  return { kind: "refused", fault: new Fault("forbidden", message) };
}

function refuseCaller(message: string): Caller {
  return { kind: "refused", fault: new Fault("unauthorized", message) };
}

function isAcceptedName(name: string, hosts: ReadonlySet<string>): boolean {
  return name === "localhost" || name.endsWith(".local") ||
    name.endsWith(".internal") || hosts.has(name);
}

/** A page that this very address served. */
function isOwnOrigin(origin: string, host: string): boolean {
  const lower = host.trim().toLowerCase();
  const given = origin.toLowerCase();
  return given === `http://${lower}` || given === `https://${lower}`;
}

function normalOrigin(origin: string): string {
  return origin.trim().toLowerCase().replace(/\/$/, "");
}

function isProxied(fields: HeadFields): boolean {
  for (const name of fields.keys()) if (PROXIED.test(name)) return true;
  return false;
}

function presentedKey(fields: HeadFields): string | null {
  const authorization = fields.get("authorization");
  const bearer = authorization === undefined
    ? null
    : /^bearer +(\S+) *$/i.exec(authorization);
  return bearer?.[1] ?? fields.get("x-api-key") ?? null;
}

/** Compare without telling by the time taken where the first difference is; the length may show. */
function equalInConstantTime(known: Uint8Array, given: Uint8Array): boolean {
  let difference = known.length ^ given.length;
  for (let at = 0; at < given.length; at++) {
    difference |= (known[at % known.length] ?? 0) ^ (given[at] ?? 0);
  }
  return difference === 0;
}
