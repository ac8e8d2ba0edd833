import assert from "node:assert/strict";
import fc from "fast-check";
import {
  EVERY_NETWORK,
  isInNetwork,
  parseNetwork,
} from "../../src/domain/mod.ts";

function holds(network: string, address: string): boolean {
  const read = parseNetwork(network);
  assert.ok(read !== undefined, network);
  return isInNetwork(address, read);
}

Deno.test("isInNetwork tells addresses by their leading bits, in both families", () => {
  const rows: [string, string, boolean][] = [
    ["172.16.0.0/12", "172.31.255.255", true],
    ["172.16.0.0/12", "172.32.0.0", false],
    ["172.16.0.0/12", "::ffff:172.17.0.2", true],
    ["172.16.0.0/12", "::ffff:ac11:2", true],
    ["::ffff:172.16.0.0/12", "fd00::1", false],
    ["10.0.0.7", "10.0.0.7", true],
    ["10.0.0.7", "10.0.0.8", false],
    ["fd00::/8", "fdff::1", true],
    ["fd00::/8", "fe80::1", false],
    ["fe80::/10", "fe80::1%eth0", true],
    ["::1/128", "::1", true],
    ["::1", "::2", false],
    ["0.0.0.0/0", "::1", false],
    ["10.0.0.0/8", "not an address", false],
  ];
  for (const [network, address, expected] of rows) {
    if (parseNetwork(network) === undefined) {
      assert.equal(expected, false, network);
      continue;
    }
    assert.equal(holds(network, address), expected, `${network} ${address}`);
  }
});

Deno.test("parseNetwork refuses what is none, and bits beyond the prefix", () => {
  const bad = [
    "",
    "/8",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "10.0.0.1/8",
    "010.0.0.0/8",
    "10.0.0/8",
    "10.0.0.256/32",
    "fd00::/129",
    "fd00::1/8",
    "fe80::1%eth0/64",
    "example.org/8",
    "1".repeat(5000),
  ];
  for (const text of bad) {
    assert.equal(parseNetwork(text), undefined, text.slice(0, 40));
  }
});

Deno.test("every address lies in its own network of any length, and in every network", () => {
  const bytes = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 });
  fc.assert(fc.property(bytes, fc.integer({ min: 0, max: 32 }), (all, bits) => {
    const number = all.reduce((sum, byte) => sum * 256 + byte, 0);
    const base = Math.floor(number / 2 ** (32 - bits)) * 2 ** (32 - bits);
    const text = [24, 16, 8, 0].map((by) => Math.floor(base / 2 ** by) % 256)
      .join(".");
    const address = all.join(".");
    assert.ok(holds(`${text}/${bits}`, address));
    assert.ok(EVERY_NETWORK.some((one) => isInNetwork(address, one)));
    assert.ok(
      EVERY_NETWORK.some((one) => isInNetwork(`::ffff:${address}`, one)),
    );
  }));
  fc.assert(fc.property(fc.string(), (text) => {
    parseNetwork(text);
    assert.equal(
      EVERY_NETWORK.some((one) => isInNetwork(`x${text}`, one)),
      false,
    );
  }));
});
