import assert from "node:assert/strict";
import { hasOpenssl, makeCertificate } from "../fakes/certificate.ts";
import { MemoryFiles } from "../../src/platform/mod.ts";
import {
  CertificateError,
  namesOf,
  readCertificate,
} from "../../src/store/api_certificate.ts";

Deno.test("readCertificate names the file that is wrong and never what it holds", async () => {
  const paths = { certificateFile: "/c.pem", keyFile: "/k.pem" };
  const rows: [Record<string, string>, RegExp][] = [
    [{}, /"\/c\.pem".*COVEY_TLS_CERT/],
    [{ "/c.pem": "c" }, /"\/k\.pem".*COVEY_TLS_KEY/],
    [{ "/c.pem": "hunter2", "/k.pem": "k" }, /"\/c\.pem" holds no certificate/],
    [{ "/c.pem": "", "/k.pem": "" }, /"\/c\.pem" holds no certificate/],
  ];
  for (const [files, message] of rows) {
    await assert.rejects(
      readCertificate(new MemoryFiles(files), paths),
      (error: Error) => {
        assert.ok(error instanceof CertificateError);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /hunter2/);
        return true;
      },
    );
  }
});

Deno.test("namesOf tells names from addresses, and leaves out those that nobody can dial", () => {
  assert.deepEqual(
    namesOf({
      name: "Ada's box",
      hosts: ["0.0.0.0", "::", "192.0.2.1", "ada.lan"],
      allowedHosts: ["pool.example", "fd00::1"],
    }),
    {
      hosts: [
        "localhost",
        "ada-s-box",
        "ada-s-box.local",
        "ada.lan",
        "pool.example",
      ],
      addresses: ["127.0.0.1", "::1", "192.0.2.1", "fd00::1"],
    },
  );
});

Deno.test({
  name:
    "readCertificate takes a certificate with its own key and refuses any other",
  ignore: !hasOpenssl(),
  async fn() {
    const paths = { certificateFile: "/c.pem", keyFile: "/k.pem" };
    const [own, other] = [await makeCertificate(), await makeCertificate()];
    const files = (key: string) =>
      new MemoryFiles({ "/c.pem": own.certificatePem, "/k.pem": key });
    assert.deepEqual(
      await readCertificate(files(own.privateKeyPem), paths),
      own,
    );
    await assert.rejects(
      readCertificate(files(other.privateKeyPem), paths),
      /"\/k\.pem" does not belong to the certificate in "\/c\.pem"/,
    );
    await assert.rejects(
      readCertificate(files("junk"), paths),
      /"\/k\.pem" holds no private key/,
    );
  },
});
