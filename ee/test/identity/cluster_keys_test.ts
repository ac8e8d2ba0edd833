import { Secret } from "@covey/core/domain";
import assert from "node:assert/strict";
import { deriveClusterKeys } from "../../src/identity/cluster_keys.ts";

// Made by Python's hashlib.scrypt with an HKDF of its own, and checked against
// `openssl kdf … SCRYPT` and `openssl kdf … HKDF`.
const VECTORS = [
  {
    secret: "correct horse battery staple",
    password:
      "eb65daa346ca4a419c247126bc91737ac98b6407c4d845a56df81bdcc9c82128",
    clusterId: "ec378c77-7eaf-8e51-a482-31976384adab",
  },
  {
    secret: "Gr\u00fc\u00dfe aus der K\u00fcche 17",
    password:
      "0177e6190b3798b11041a5a344064e911bfdf35ea54b5d25cd9e8d09e68b62a0",
    clusterId: "590fe748-b0b7-8e73-9a91-470528443484",
  },
];

Deno.test("deriveClusterKeys agrees with an independent scrypt and HKDF", async () => {
  for (const vector of VECTORS) {
    const keys = await deriveClusterKeys(new Secret(vector.secret));
    assert.equal(keys.admissionPassword.toHex(), vector.password);
    assert.equal(keys.clusterId, vector.clusterId);
  }
});

Deno.test("deriveClusterKeys takes composed and decomposed accents for one secret", async () => {
  const [, composed] = VECTORS;
  assert(composed);
  const keys = await deriveClusterKeys(
    new Secret(composed.secret.normalize("NFD")),
  );
  assert.equal(keys.admissionPassword.toHex(), composed.password);
});
