import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { parseNodeId } from "@covey/core/domain";
import { createSeededEntropy, MemoryFiles } from "@covey/core/platform";
import { ensureApiCertificate } from "../../src/identity/api_certificate.ts";

function options(files: MemoryFiles) {
  const nodeId = parseNodeId("11111111-1111-4111-8111-111111111111");
  assert.ok(nodeId !== undefined);
  return {
    files,
    entropy: createSeededEntropy(1),
    dataDir: "/data",
    nodeId,
    names: { hosts: ["ada.local"], addresses: ["192.0.2.1", "fd00::1"] },
  };
}

Deno.test("ensureApiCertificate makes a certificate once, with the names that clients use", async () => {
  const files = new MemoryFiles({ "/data/x": "" });
  const made = await ensureApiCertificate(options(files));
  const pem = await files.readText(made.certificateFile);
  const certificate = new X509Certificate(pem);
  for (const name of ["ada.local", "192.0.2.1"]) {
    assert.ok(certificate.subjectAltName?.includes(name), name);
  }
  const key = await files.readText(made.keyFile);
  await ensureApiCertificate(options(files));
  assert.equal(await files.readText(made.certificateFile), pem);
  assert.equal(await files.readText(made.keyFile), key);
});

Deno.test("ensureApiCertificate replaces a certificate whose key is gone, and makes one anew for a key", async () => {
  const files = new MemoryFiles({ "/data/x": "" });
  const { certificateFile, keyFile } = await ensureApiCertificate(
    options(files),
  );
  const first = await files.readText(certificateFile);
  await files.remove(keyFile);
  await ensureApiCertificate(options(files));
  const second = await files.readText(certificateFile);
  assert.notEqual(second, first);
  const key = await files.readText(keyFile);
  await files.remove(certificateFile);
  await ensureApiCertificate(options(files));
  assert.equal(await files.readText(keyFile), key);
});
