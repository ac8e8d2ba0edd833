import type { NodeId } from "@covey/core/domain";
import {
  createDenoFiles,
  createSeededEntropy,
  createSystemEntropy,
  FileError,
  type Files,
  MemoryFiles,
} from "@covey/core/platform";
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import {
  type KeyHash,
  keyHashOfCertificate,
  parseKeyHash,
} from "../../src/identity/key_hash.ts";
import {
  IdentityError,
  loadIdentity,
  type NodeIdentity,
} from "../../src/identity/node_identity.ts";

const NODE_ID = "6b0a1c2e-0000-4000-8000-00000000000a" as NodeId;
const STATE_DIR = "/state/cluster";
const PATH = `${STATE_DIR}/identity.json`;

const FIXED_KEY_HASH =
  "df6c4fc8e5c8438d15dcda08f4ce3b4ff1f2422fa718334632780fa063159971";
const FIXED_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIULOG1Vg1u413KKnW21RH5CNHTfRIwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMzAwNzU4MzZaGA8yMTI2MTEwNjA3NTgz
NlowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDH0
8Cm/8j9ckajdsyASV12MUFJozjciSVfokfZWJTDl2ZQ+QudY1apJ2fmGB6m5SvxC
PUR5HNj4Dxq7p57QKHejUzBRMB0GA1UdDgQWBBTcJy2sq9q/Fy1oxHP1pwq6aIy4
WDAfBgNVHSMEGDAWgBTcJy2sq9q/Fy1oxHP1pwq6aIy4WDAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCIFaydu2Otpvt1kup6KTt3cDdkaS1tLErRytt
i5rLYDqDAiAzvrH7qumV9xJnTxl1MfgYe5Uk/SMPPfBJF7YDo5D7EA==
-----END CERTIFICATE-----
`;

function load(
  files: Files,
  { nodeId = NODE_ID, log = new QuietLog(), seed = 1 } = {},
): Promise<NodeIdentity> {
  return loadIdentity({
    files,
    entropy: createSeededEntropy(seed),
    log,
    stateDir: STATE_DIR,
    nodeId,
  });
}

Deno.test("loadIdentity makes an identity once and reads the same one after", async () => {
  const files = new MemoryFiles();
  const log = new QuietLog();
  const first = await load(files, { log });
  const bytes = await files.readText(PATH);
  const second = await load(files, { log, seed: 2 });
  assert.deepEqual(second, first);
  assert.equal(await files.readText(PATH), bytes);
  assert.equal(first.id, NODE_ID);
  assert.equal(keyHashOfCertificate(first.certificatePem), first.keyHash);
  assert(!JSON.stringify(log.lines).includes("PRIVATE KEY"));
});

Deno.test("loadIdentity makes certificates that every parser reads, 200 times (IDN-04, IDN-03)", async () => {
  const entropy = createSystemEntropy();
  const serials = new Set<string>();
  for (let n = 0; n < 200; n++) {
    const identity = await loadIdentity({
      files: new MemoryFiles(),
      entropy,
      log: new QuietLog(),
      stateDir: STATE_DIR,
      nodeId: NODE_ID,
    });
    const certificate = new X509Certificate(identity.certificatePem);
    assert.equal(certificate.subject, "CN=Covey node");
    assert.equal(certificate.subjectAltName, `URI:urn:uuid:${NODE_ID}`);
    assert.equal(certificate.validFrom, "Jan  1 00:00:00 1970 GMT");
    assert.equal(certificate.validTo, "Dec 31 23:59:59 9999 GMT");
    assert.match(certificate.serialNumber, /^[4-7][0-9A-F]{31}$/);
    assert(
      certificate.checkPrivateKey(createPrivateKey(identity.privateKeyPem)),
    );
    assert(certificate.verify(certificate.publicKey));
    serials.add(certificate.serialNumber);
  }
  assert.equal(serials.size, 200);
});

Deno.test({
  name:
    "loadIdentity makes certificates that OpenSSL reads (IDN-04; needs the openssl program)",
  ignore: !await hasOpenssl(),
  async fn() {
    for (let n = 0; n < 3; n++) {
      const { certificatePem } = await load(new MemoryFiles(), { seed: n });
      const printed = await opensslText(certificatePem);
      assert.match(printed, new RegExp(`URI:urn:uuid:${NODE_ID}`));
      assert.match(printed, /Not After : Dec 31 23:59:59 9999 GMT/);
      assert.match(printed, /NIST CURVE: P-256/);
    }
  },
});

Deno.test("loadIdentity refuses a torn or garbled file, names it and leaves it (IDN-06)", async () => {
  const files = new MemoryFiles();
  await load(files);
  const whole = await files.readBytes(PATH);
  const text = new TextDecoder().decode(whole);
  const other = JSON.parse(await madeText());
  const variants: Record<string, Uint8Array<ArrayBuffer> | string> = {
    empty: "",
    half: whole.slice(0, whole.length / 2),
    "all but the last byte pair": whole.slice(0, -2),
    NULs: new Uint8Array(whole.length),
    "half, then NULs": Uint8Array.from(
      whole,
      (byte, at) => at < whole.length / 2 ? byte : 0,
    ),
    "not UTF-8": new Uint8Array(64).fill(0xff),
    null: "null",
    array: "[]",
    "another version": text.replace('"v": 1', '"v": 2'),
    "no key": text.replace("BEGIN PRIVATE KEY", "BEGIN"),
    "another node's key": JSON.stringify({
      ...JSON.parse(text),
      privateKey: other.privateKey,
    }),
  };
  for (const [name, content] of Object.entries(variants)) {
    const torn = new MemoryFiles({ [PATH]: content });
    const before = await torn.readBytes(PATH);
    await assert.rejects(load(torn), (error) => {
      assert(error instanceof IdentityError, name);
      assert.match(error.message, /"\/state\/cluster\/identity\.json"/);
      assert.match(error.message, /covey identity reset/);
      assert(!error.message.includes("PRIVATE KEY"));
      return true;
    });
    assert.deepEqual(await torn.readBytes(PATH), before, name);
  }
});

Deno.test("loadIdentity refuses a file cut off at any byte (IDN-06)", async () => {
  const files = new MemoryFiles();
  await load(files);
  const whole = await files.readBytes(PATH);
  // The file ends in `}` and a newline; without the newline it is still whole.
  for (let length = 0; length < whole.length - 1; length += 7) {
    const torn = new MemoryFiles({ [PATH]: whole.slice(0, length) });
    await assert.rejects(load(torn), IdentityError, `cut at ${length}`);
  }
});

Deno.test("loadIdentity refuses a file of another node id", async () => {
  const files = new MemoryFiles();
  await load(files);
  const nodeId = "6b0a1c2e-0000-4000-8000-00000000000b" as NodeId;
  await assert.rejects(
    load(files, { nodeId }),
    /belongs to the node "6b0a1c2e-0000-4000-8000-00000000000a"/,
  );
});

Deno.test("loadIdentity makes a broken certificate again for the same key (IDN-04)", async () => {
  const files = new MemoryFiles();
  const first = await load(files);
  const file = JSON.parse(await files.readText(PATH));
  file.certificate = file.certificate.replace("MII", "AAA");
  const log = new QuietLog();
  const broken = new MemoryFiles({ [PATH]: JSON.stringify(file) });
  const again = await load(broken, { log });
  assert.equal(again.keyHash, first.keyHash);
  assert.equal(again.privateKeyPem, first.privateKeyPem);
  assert.equal(keyHashOfCertificate(again.certificatePem), first.keyHash);
  assert.deepEqual(log.lines.map((line) => line.level), ["warn"]);
  assert.deepEqual(await load(broken), again);
});

Deno.test("loadIdentity does not go on with an identity that could not be written", async () => {
  const files = new MemoryFiles();
  files.failWrites = "full";
  await assert.rejects(
    load(files),
    (error) => error instanceof FileError && error.problem === "full",
  );
});

Deno.test("loadIdentity writes a private file in a private folder", async () => {
  const root = await Deno.makeTempDir();
  try {
    const stateDir = `${root}/cluster`;
    await loadIdentity({
      files: createDenoFiles(() => "x"),
      entropy: createSystemEntropy(),
      log: new QuietLog(),
      stateDir,
      nodeId: NODE_ID,
    });
    const mode = (stat: Deno.FileInfo) => (stat.mode ?? 0) & 0o777;
    assert.equal(mode(await Deno.stat(stateDir)), 0o700);
    assert.equal(mode(await Deno.stat(`${stateDir}/identity.json`)), 0o600);
    const names = [];
    for await (const entry of Deno.readDir(stateDir)) names.push(entry.name);
    assert.deepEqual(names, ["identity.json"]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("two identities shake hands over TLS 1.3 and each sees the other's key hash", async () => {
  const server = await load(new MemoryFiles(), { seed: 1 });
  const client = await load(new MemoryFiles(), { seed: 2 });
  assert.notEqual(server.keyHash, client.keyHash);
  const seen: (KeyHash | undefined)[] = [];
  const listener = https.createServer({
    cert: server.certificatePem,
    key: server.privateKeyPem,
    minVersion: "TLSv1.3",
    requestCert: true,
    rejectUnauthorized: false,
  }, (request, response) => {
    assert(request.socket instanceof TLSSocket);
    seen.push(keyHashOfCertificate(request.socket.getPeerCertificate().raw));
    response.end();
  });
  await new Promise<void>((resolve) =>
    listener.listen(0, "127.0.0.1", resolve)
  );
  try {
    await new Promise<void>((resolve, reject) => {
      https.get({
        host: "127.0.0.1",
        port: (listener.address() as AddressInfo).port,
        cert: client.certificatePem,
        key: client.privateKeyPem,
        minVersion: "TLSv1.3",
        rejectUnauthorized: false,
        agent: false,
      }, (response) => {
        assert(response.socket instanceof TLSSocket);
        seen.push(
          keyHashOfCertificate(response.socket.getPeerCertificate().raw),
        );
        response.resume().on("end", resolve);
      }).on("error", reject);
    });
  } finally {
    await new Promise((resolve) => listener.close(resolve));
  }
  assert.deepEqual(seen, [client.keyHash, server.keyHash]);
});

Deno.test("keyHashOfCertificate agrees with OpenSSL's digest of the public key", () => {
  // openssl ecparam -name prime256v1 -genkey | openssl req -x509 …, then
  // openssl x509 -pubkey -noout | openssl pkey -pubin -outform DER | sha256sum
  assert.equal(keyHashOfCertificate(FIXED_CERTIFICATE), FIXED_KEY_HASH);
});

Deno.test("keyHashOfCertificate reads no key from what is no certificate", () => {
  const hostile = [
    new Uint8Array(),
    new Uint8Array(1000),
    Uint8Array.of(0x30, 0x84, 0xff, 0xff, 0xff, 0xff),
    new TextEncoder().encode("-----BEGIN CERTIFICATE-----"),
  ];
  for (const bytes of hostile) {
    assert.equal(keyHashOfCertificate(bytes), undefined);
  }
});

Deno.test("parseKeyHash takes 64 hexadecimal digits and nothing else", () => {
  assert.equal(parseKeyHash(FIXED_KEY_HASH.toUpperCase()), FIXED_KEY_HASH);
  const wrong = ["", FIXED_KEY_HASH.slice(1), `${FIXED_KEY_HASH}0`];
  wrong.push(`g${FIXED_KEY_HASH.slice(1)}`, `${FIXED_KEY_HASH}\n`);
  for (const text of wrong) assert.equal(parseKeyHash(text), undefined);
});

async function madeText(): Promise<string> {
  const files = new MemoryFiles();
  await load(files);
  return await files.readText(PATH);
}

async function hasOpenssl(): Promise<boolean> {
  try {
    const { success } = await new Deno.Command("openssl", {
      args: ["version"],
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function opensslText(pem: string): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/certificate.pem`;
    await Deno.writeTextFile(path, pem);
    const { success, stdout, stderr } = await new Deno.Command("openssl", {
      args: ["x509", "-noout", "-text", "-in", path],
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
