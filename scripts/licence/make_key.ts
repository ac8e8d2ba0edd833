/**
 * Makes an issuer's key pair for licences. The private half goes to a file
 * that only its owner can read; the public half is printed, to be put into
 * `ee/src/licence/licence_keys.ts` before a build.
 *
 *     deno task licence:key <private-key-file>
 *
 * @module
 */

/** An issuer's pair. */
export interface IssuerKey {
  /** PKCS #8, PEM. */
  readonly privateKeyPem: string;
  /** 32 bytes as base64url, as `licence_keys.ts` lists them. */
  readonly publicKey: string;
}

/** Make a pair. */
export async function makeIssuerKey(): Promise<IssuerKey> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", pair.privateKey);
  const raw = await crypto.subtle.exportKey("raw", pair.publicKey);
  return {
    privateKeyPem: `-----BEGIN PRIVATE KEY-----\n${
      new Uint8Array(pkcs8).toBase64()
    }\n-----END PRIVATE KEY-----\n`,
    publicKey: new Uint8Array(raw).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    }),
  };
}

if (import.meta.main) {
  const [path, ...more] = Deno.args;
  if (path === undefined || more.length > 0) {
    write(Deno.stderr, "Usage: deno task licence:key <private-key-file>\n");
    Deno.exit(2);
  }
  const key = await makeIssuerKey();
  try {
    // Never over an older key: licences in use may hang on it.
    await Deno.writeTextFile(path, key.privateKeyPem, {
      createNew: true,
      mode: 0o600,
    });
  } catch (error) {
    const reason = error instanceof Deno.errors.AlreadyExists
      ? "it exists already; give another name"
      : error instanceof Error
      ? error.message
      : String(error);
    write(Deno.stderr, `Failed to write "${path}": ${reason}\n`);
    Deno.exit(1);
  }
  write(Deno.stdout, `${key.publicKey}\n`);
}

function write(
  stream: { writeSync(bytes: Uint8Array): number },
  text: string,
): void {
  stream.writeSync(new TextEncoder().encode(text));
}
