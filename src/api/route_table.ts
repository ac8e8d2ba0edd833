import { Fault } from "../domain/mod.ts";

/** A path pattern: literal segments, `{name}` for one segment, `{name…}` last for all the rest. */
export type PathPattern = string;

/** One row: what answers a method on a pattern. `*` stands for every method. */
export interface Route<Target> {
  readonly method: string;
  readonly pattern: PathPattern;
  readonly target: Target;
}

/** What a path and method came to. */
export type RouteMatch<Target> =
  | {
    readonly kind: "found";
    readonly pattern: PathPattern;
    readonly target: Target;
    /** Decoded values of the pattern's names. */
    readonly params: Readonly<Record<string, string>>;
  }
  | {
    readonly kind: "wrong_method";
    readonly pattern: PathPattern;
    /** Methods the path has, sorted. */
    readonly allowed: readonly string[];
  }
  | { readonly kind: "unknown" };

/**
 * Find who answers. Rows are tried in order, so literal patterns come before
 * wider ones; `HEAD` is served like `GET`; one trailing slash is tolerated.
 *
 * @param routes The table.
 * @param method The request's method.
 * @param path The path, percent-encoded, without query.
 * @returns The row and its parameters.
 * @throws {Fault} When a parameter is not well percent-encoded.
 */
export function matchRoute<Target>(
  routes: readonly Route<Target>[],
  method: string,
  path: string,
): RouteMatch<Target> {
  const wanted = method === "HEAD" ? "GET" : method;
  const trimmed = path.length > 1 && path.endsWith("/")
    ? path.slice(0, -1)
    : path;
  const allowed = new Set<string>();
  let pattern = "";
  for (const route of routes) {
    const encoded = matchPattern(route.pattern, trimmed);
    if (encoded === undefined) continue;
    if (route.method === wanted || route.method === "*") {
      return {
        kind: "found",
        pattern: route.pattern,
        target: route.target,
        params: decode(encoded),
      };
    }
    if (pattern === "") pattern = route.pattern;
    allowed.add(route.method);
    if (route.method === "GET") allowed.add("HEAD");
  }
  if (allowed.size === 0) return { kind: "unknown" };
  return { kind: "wrong_method", pattern, allowed: [...allowed].sort() };
}

function matchPattern(
  pattern: PathPattern,
  path: string,
): Record<string, string> | undefined {
  const parts = pattern.split("/");
  const segments = path.split("/");
  const params: Record<string, string> = {};
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at] ?? "";
    const segment = segments[at];
    if (segment === undefined) return undefined;
    if (part.endsWith("…}")) {
      const rest = segments.slice(at).join("/");
      if (rest === "") return undefined;
      params[part.slice(1, -2)] = rest;
      return params;
    }
    if (part.startsWith("{")) {
      if (segment === "") return undefined;
      params[part.slice(1, -1)] = segment;
    } else if (part !== segment) return undefined;
  }
  return segments.length === parts.length ? params : undefined;
}

function decode(
  encoded: Readonly<Record<string, string>>,
): Record<string, string> {
  const decoded: Record<string, string> = {};
  for (const [name, value] of Object.entries(encoded)) {
    try {
      decoded[name] = decodeURIComponent(value);
    } catch (error) {
      throw new Fault(
        "invalid_request",
        `The path is not well percent-encoded: "${value.slice(0, 200)}"`,
        { cause: error },
      );
    }
  }
  return decoded;
}
