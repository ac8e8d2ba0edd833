import assert from "node:assert/strict";

/** Whether the program that makes certificates is there. */
export function hasOpenssl(): boolean {
  try {
    return new Deno.Command("openssl", { args: ["version"], stdout: "null" })
      .outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Make a certificate for `localhost` that nothing but a test ever uses. */
export async function makeCertificate(): Promise<
  { readonly certificatePem: string; readonly privateKeyPem: string }
> {
  const folder = await Deno.makeTempDir({ prefix: "covey-tls-" });
  try {
    const { success } = await new Deno.Command("openssl", {
      args: [
        ...["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"],
        ...["-pkeyopt", "ec_paramgen_curve:prime256v1"],
        ...["-subj", "/CN=localhost"],
        ...["-addext", "subjectAltName=DNS:localhost"],
        ...["-addext", "basicConstraints=critical,CA:FALSE"],
        ...["-keyout", `${folder}/key.pem`, "-out", `${folder}/cert.pem`],
      ],
      stderr: "null",
    }).output();
    assert.equal(success, true);
    return {
      certificatePem: await Deno.readTextFile(`${folder}/cert.pem`),
      privateKeyPem: await Deno.readTextFile(`${folder}/key.pem`),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
