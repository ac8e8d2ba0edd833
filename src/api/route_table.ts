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

/** A row as it is compared. */
interface Row<Target> extends Route<Target> {
  readonly parts: readonly string[];
}

/** A row that a path matches, with the parameters as they stand in it. */
interface Hit<Target> {
  readonly route: Route<Target>;
  readonly encoded: Readonly<Record<string, string>>;
}

/**
 * Finds who answers. Rows are tried in order, so literal patterns come before
 * wider ones; `HEAD` is served like `GET`; one trailing slash is tolerated.
 */
export class RouteTable<Target> {
  readonly #rows: readonly Row<Target>[];
  /** What the paths that are patterns themselves match: nearly all requests ask for one. */
  readonly #literal: ReadonlyMap<string, readonly Hit<Target>[]>;

  /** @param routes The rows. */
  constructor(routes: readonly Route<Target>[]) {
    this.#rows = routes.map((route) => ({
      ...route,
      parts: route.pattern.split("/"),
    }));
    this.#literal = new Map(
      routes.filter(({ pattern }) => !pattern.includes("{"))
        .map(({ pattern }) => [pattern, hitsOf(this.#rows, pattern)]),
    );
  }

  /**
   * Find the row.
   *
   * @param method The request's method.
   * @param path The path, percent-encoded, without query.
   * @returns The row and its parameters.
   * @throws {Fault} When a parameter is not well percent-encoded.
   */
  match(method: string, path: string): RouteMatch<Target> {
    const wanted = method === "HEAD" ? "GET" : method;
    const trimmed = path.length > 1 && path.endsWith("/")
      ? path.slice(0, -1)
      : path;
    const hits = this.#literal.get(trimmed) ?? hitsOf(this.#rows, trimmed);
    for (const { route, encoded } of hits) {
      if (route.method === wanted || route.method === "*") {
        return {
          kind: "found",
          pattern: route.pattern,
          target: route.target,
          params: decode(encoded),
        };
      }
    }
    const [first] = hits;
    if (first === undefined) return { kind: "unknown" };
    const allowed = new Set(hits.map(({ route }) => route.method));
    if (allowed.has("GET")) allowed.add("HEAD");
    return {
      kind: "wrong_method",
      pattern: first.route.pattern,
      allowed: [...allowed].sort(),
    };
  }
}

function hitsOf<Target>(
  rows: readonly Row<Target>[],
  path: string,
): readonly Hit<Target>[] {
  const segments = path.split("/");
  return rows.flatMap((route) => {
    const encoded = matchParts(route.parts, segments);
    return encoded === undefined ? [] : [{ route, encoded }];
  });
}

function matchParts(
  parts: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
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
