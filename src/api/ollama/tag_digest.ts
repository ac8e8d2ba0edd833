import type { ModelListing } from "../../domain/mod.ts";

const DIGEST = /^[0-9a-f]{64}$/;

/**
 * Tell the digest by which Ollama's lists know a model: its root where that is
 * known. Of any other, such as a provider's, it is made from the name: Ollama's
 * own program prints the first twelve characters of each, and ends with a
 * failure where there are fewer.
 *
 * @param model Its name and, where known, its root.
 * @returns SHA-256 in hexadecimal.
 */
export async function tagDigest(
  { model, root }: Pick<ModelListing, "model" | "root">,
): Promise<string> {
  if (root !== undefined && DIGEST.test(root)) return root;
  const name = new TextEncoder().encode(root ?? model);
  const digest = await crypto.subtle.digest("SHA-256", name);
  return new Uint8Array(digest).toHex();
}
