/**
 * Issues a licence and prints it.
 *
 *     deno task licence:issue --key FILE --id ID --holder NAME
 *       --nodes NUMBER|unlimited [--not-after YYYY-MM-DD]
 *
 * @module
 */
import { parseArgs } from "node:util";
import {
  type LicenceTerms,
  signLicence,
} from "../../ee/src/licence/licence.ts";

const USAGE = "Usage: deno task licence:issue --key FILE --id ID " +
  "--holder NAME --nodes NUMBER|unlimited [--not-after YYYY-MM-DD]\n";

/**
 * Issue a licence.
 *
 * @param terms What it says.
 * @param privateKeyPem The issuer's key: PKCS #8, PEM.
 * @returns The licence as text.
 * @throws {RangeError} When the terms have the wrong form.
 */
export async function issueLicence(
  terms: LicenceTerms,
  privateKeyPem: string,
): Promise<string> {
  const body = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END/
    .exec(privateKeyPem)?.[1];
  if (body === undefined) {
    throw new RangeError("Failed to read the issuer's key: it is no PEM file");
  }
  const key = await crypto.subtle.importKey(
    "pkcs8",
    Uint8Array.fromBase64(body),
    "Ed25519",
    false,
    ["sign"],
  );
  return await signLicence(terms, key);
}

if (import.meta.main) {
  try {
    const { values } = parseArgs({
      args: Deno.args,
      options: {
        key: { type: "string" },
        id: { type: "string" },
        holder: { type: "string" },
        nodes: { type: "string" },
        "not-after": { type: "string" },
      },
    });
    const { holder, id, key, nodes } = values;
    if (!key || !id || !holder || !nodes) throw new RangeError(USAGE.trim());
    const licence = await issueLicence({
      id,
      holder,
      maxClusterNodes: nodes === "unlimited" ? null : Number(nodes),
      notAfter: values["not-after"] ?? null,
    }, await Deno.readTextFile(key));
    Deno.stdout.writeSync(new TextEncoder().encode(`${licence}\n`));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    Deno.stderr.writeSync(new TextEncoder().encode(`${reason}\n`));
    Deno.exit(1);
  }
}
