import { type NodeId, parseNodeId } from "./identifier.ts";

/** Where a request may run, as its caller said. */
export type Source =
  | { readonly kind: "unsaid" }
  | { readonly kind: "local" }
  | { readonly kind: "cluster" }
  /** One member, by id or by name; a name is resolved when the request is placed. */
  | { readonly kind: "node"; readonly node: NodeId | string };

/** What `parseSource` accepts, for error messages. */
export const SOURCE_FORMS = '"local", "cluster" or "node:<uuid or name>"';

/**
 * Parse a source in the spelling that body field, header and base path share.
 *
 * @param text The caller's words.
 * @returns The source, or undefined when the text is none of `SOURCE_FORMS`.
 */
export function parseSource(text: string): Source | undefined {
  if (text === "local") return { kind: "local" };
  if (text === "cluster") return { kind: "cluster" };
  const pinned = /^node:(.{1,128})$/.exec(text)?.[1];
  if (pinned === undefined) return undefined;
  return { kind: "node", node: parseNodeId(pinned) ?? pinned };
}

/**
 * Write a source the way `parseSource` reads it.
 *
 * @param source The source.
 * @returns Its text; `unsaid` for one that was not said.
 */
export function formatSource(source: Source): string {
  return source.kind === "node" ? `node:${source.node}` : source.kind;
}
