const TAG_BYTES = 12;

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
  return async (address) => {
    key ??= crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
    const digest = await crypto.subtle.sign(
      "HMAC",
      await key,
      new TextEncoder().encode(address),
    );
    return `anonymous-${new Uint8Array(digest, 0, TAG_BYTES).toHex()}`;
  };
}
