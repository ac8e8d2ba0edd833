const TAG_BYTES = 12;
/** Of more addresses than this, those that came first are tagged anew. */
const MOST_KNOWN = 1024;

/**
 * Make what tells callers without a key apart: their address under a key that
 * this process alone has, so that members who see the tag learn no address and
 * cannot guess at one.
 *
 * @param secret Drawn anew by each process.
 * @returns The tag of an address; the same for the same one.
 */
export function createAnonymousTag(
  secret: Uint8Array<ArrayBuffer>,
): (address: string) => Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  let key: Promise<CryptoKey> | null = null;
  const tags = new Map<string, string>();
  return async (address) => {
    const known = tags.get(address);
    if (known !== undefined) return known;
    key ??= crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
    const digest = await crypto.subtle.sign(
      "HMAC",
      await key,
      new TextEncoder().encode(address),
    );
    const tag = `anonymous-${new Uint8Array(digest, 0, TAG_BYTES).toHex()}`;
    tags.set(address, tag);
    const [oldest] = tags.keys();
    if (tags.size > MOST_KNOWN && oldest !== undefined) tags.delete(oldest);
    return tag;
  };
}
