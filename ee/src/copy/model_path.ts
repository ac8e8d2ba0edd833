/** Where models are handed out on the link. */
export const MODELS_PATH = "/covey/1/models/";

/** What of a model a path asks for. */
export type ModelPath =
  | { readonly kind: "manifest"; readonly root: string }
  /** Which chunks are there. */
  | { readonly kind: "held"; readonly root: string }
  | { readonly kind: "file"; readonly root: string; readonly file: number };

/** Write a path. */
export function formatModelPath(path: ModelPath): string {
  const base = `${MODELS_PATH}${path.root}`;
  return path.kind === "file"
    ? `${base}/files/${path.file}`
    : `${base}/${path.kind}`;
}

/**
 * Read a path.
 *
 * @returns Undefined where it is none of a model's.
 */
export function parseModelPath(text: string): ModelPath | undefined {
  const [, root, rest] =
    /^\/covey\/1\/models\/([0-9a-f]{64})\/(manifest|held|files\/\d{1,3})$/
      .exec(text) ?? [];
  if (root === undefined || rest === undefined) return undefined;
  return rest === "manifest" || rest === "held"
    ? { kind: rest, root }
    : { kind: "file", root, file: Number(rest.slice("files/".length)) };
}
