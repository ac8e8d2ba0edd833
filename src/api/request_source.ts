import {
  Fault,
  findMembers,
  formatSource,
  type JsonValue,
  type NamedMember,
  parseSource,
  type Source,
  SOURCE_FORMS,
} from "../domain/mod.ts";

/** A path whose prefix was cut off, and what the prefix said. */
export interface PrefixedPath {
  readonly path: string;
  readonly source: Source;
}

const UNSAID: Source = { kind: "unsaid" };
const PREFIX = /^\/(?:cluster|node\/([^/]+))(?=\/(?:v1|api)\/)/;

/**
 * Cut the prefix `/cluster` or `/node/<uuid or name>` off a path, once, and
 * only before `/v1/` or `/api/`: the spelling of a source for programs that
 * can only set a base URL.
 *
 * @param path A path as it came, percent-encoded.
 * @returns The rest, and the source the prefix named.
 * @throws {Fault} When the prefix names no node.
 */
export function cutSourcePrefix(path: string): PrefixedPath {
  const found = path.startsWith("/v1/") ? null : PREFIX.exec(path);
  if (found === null) return { path, source: UNSAID };
  const rest = path.slice(found[0].length);
  const [, node] = found;
  if (node === undefined) return { path: rest, source: { kind: "cluster" } };
  const source = parseSource(`node:${decodeNode(node)}`);
  if (source === undefined) {
    throw new Fault(
      "invalid_request",
      `The path names no node: "/node/${node}"; write /node/<uuid or name>/v1/…`,
    );
  }
  return { path: rest, source };
}

function decodeNode(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch (error) {
    throw new Fault(
      "invalid_request",
      `The path is not well percent-encoded: "/node/${encoded}"`,
      { cause: error },
    );
  }
}

/** The three places in which a caller may say where a request may run. */
export interface SourceSpellings {
  /** The body's field `source`. */
  readonly body: JsonValue | undefined;
  /** The header `x-covey-source`; undefined where there is none. */
  readonly header: string | undefined;
  /** What the path's prefix said. */
  readonly prefix: Source;
}

/**
 * Settle where a request may run. Body, header and prefix count in that order;
 * since a caller who says two different things is mistaken about one of them,
 * they must agree.
 *
 * @param spellings What was said where.
 * @returns The source.
 * @throws {Fault} When one is none of the accepted forms, or two differ.
 */
export function settleSource(spellings: SourceSpellings): Source {
  const { body, header, prefix } = spellings;
  if (body === undefined && header === undefined) return prefix;
  const said: { readonly where: string; readonly source: Source }[] = [];
  if (body !== undefined && body !== null) {
    said.push({
      where: 'body field "source"',
      source: parseSaid(body, "source"),
    });
  }
  if (header !== undefined && header.trim() !== "") {
    said.push({
      where: 'header "x-covey-source"',
      source: parseSaid(header.trim(), "x-covey-source"),
    });
  }
  if (prefix.kind !== "unsaid") said.push({ where: "path", source: prefix });
  const [first, ...others] = said;
  if (first === undefined) return UNSAID;
  for (const other of others) {
    const [one, two] = [formatSource(first.source), formatSource(other.source)];
    if (one !== two) {
      throw new Fault(
        "invalid_request",
        `The source is said twice and differs: ${first.where} says "${one}", ${other.where} says "${two}"`,
        { param: "source" },
      );
    }
  }
  return first.source;
}

/**
 * Bring a node's name into its id, so that two nodes of one name are never
 * mistaken for each other.
 *
 * @param source What was said.
 * @param members The member table.
 * @returns The same source by id; a name nobody has stays, for the router to refuse.
 * @throws {Fault} `invalid_request` when several members have the name.
 */
export function pinSource(
  source: Source,
  members: readonly NamedMember[],
): Source {
  if (source.kind !== "node") return source;
  const [found, ...others] = findMembers(members, source.node);
  if (found === undefined) return source;
  if (others.length === 0) return { kind: "node", node: found.id };
  const ids = [found, ...others].map(({ id }) => id);
  throw new Fault(
    "invalid_request",
    `Several members are called "${source.node}"; instead of the name, write the id of one: ${
      ids.join(", ")
    }`,
    { param: "source" },
  );
}

function parseSaid(value: JsonValue, param: string): Source {
  const source = typeof value === "string" ? parseSource(value) : undefined;
  if (source !== undefined) return source;
  throw new Fault(
    "invalid_request",
    `"${param}" must be ${SOURCE_FORMS}, not ${
      JSON.stringify(value).slice(0, 100)
    }`,
    { param },
  );
}
