import assert from "node:assert/strict";
import { MemoryFiles } from "@covey/core/platform";
import {
  announcedAddresses,
  chooseInterfaces,
  type InterfaceKind,
  isOnLink,
  multicastAddress,
  type NetworkInterface,
} from "../../src/discovery/net/interface.ts";
import {
  createDenoInterfaces,
  groupAddresses,
  kindByName,
  type ListedAddress,
} from "../../src/discovery/net/interfaces_deno.ts";
import {
  addressScope,
  canonicalAddress,
  isWithin,
  parseIpAddress,
} from "../../src/discovery/net/ip_address.ts";

function interfaceOf(
  name: string,
  kind: InterfaceKind,
  ...cidrs: string[]
): NetworkInterface {
  const addresses = cidrs.map((cidr) => {
    const [address = "", bits] = cidr.split("/");
    const family = address.includes(":") ? "IPv6" as const : "IPv4" as const;
    return { address, family, prefixLength: Number(bits) };
  });
  return { name, kind, index: null, addresses };
}

const LO = interfaceOf("lo", "loopback", "127.0.0.1/8", "::1/128");
const ETH = interfaceOf(
  "eth0",
  "lan",
  "192.0.2.2/24",
  "fd00::2/64",
  "fe80::2/64",
);
const WLAN = interfaceOf("wlan0", "lan", "192.0.2.3/24", "fe80::3/64");
const DOCKER = interfaceOf("docker0", "container_bridge", "172.17.0.1/16");
const TUN = interfaceOf("tun0", "tunnel", "10.8.0.2/24");

Deno.test("canonicalAddress knows each form of an address when it is one", () => {
  const table: [string, string | undefined][] = [
    ["192.0.2.1", "192.0.2.1"],
    ["FE80::0:1", "fe80::1"],
    ["2001:db8:0:0:0:0:0:1", "2001:db8::1"],
    ["::ffff:1.2.3.4", "::ffff:102:304"],
    ["256.0.0.1", undefined],
    ["01.2.3.4", undefined],
    ["0x7f.1", undefined],
    ["127.1", undefined],
    ["fe80::1%eth0", undefined],
    ["::1]@evil", undefined],
    ["1::2::3", undefined],
    ["", undefined],
    ["x".repeat(300), undefined],
  ];
  for (const [text, expected] of table) {
    assert.equal(canonicalAddress(text), expected, text);
  }
});

Deno.test("addressScope and isWithin judge by bits when prefixes are odd", () => {
  const parse = (text: string) => {
    const parsed = parseIpAddress(text);
    assert.ok(parsed, text);
    return parsed;
  };
  const scopes: [string, string][] = [
    ["127.9.9.9", "loopback"],
    ["169.254.1.5", "link_local"],
    ["0.0.0.0", "unusable"],
    ["255.255.255.255", "unusable"],
    ["224.0.0.251", "unusable"],
    ["10.0.0.1", "unicast"],
    ["::", "unusable"],
    ["::1", "loopback"],
    ["ff02::fb", "unusable"],
    ["febf::1", "link_local"],
    ["fec0::1", "unicast"],
    ["::ffff:127.0.0.1", "unusable"],
  ];
  for (const [text, scope] of scopes) {
    assert.equal(addressScope(parse(text)), scope, text);
  }
  assert.equal(isWithin(parse("10.1.3.255"), parse("10.1.2.1"), 23), true);
  assert.equal(isWithin(parse("10.1.4.0"), parse("10.1.2.1"), 23), false);
  assert.equal(isWithin(parse("fd00:0:0:1::"), parse("fd00::"), 63), true);
  assert.equal(isWithin(parse("10.0.0.1"), parse("::"), 0), false);
});

Deno.test("chooseInterfaces leaves bridges and tunnels out when none is named (MDN-01)", () => {
  const all = [LO, ETH, DOCKER, TUN];
  const names = (named: readonly string[] | null, from = all) =>
    chooseInterfaces(from, named).chosen.map((one) => one.name);
  assert.deepEqual(names(null), ["eth0"]);
  assert.deepEqual(names(null, [LO, DOCKER]), ["lo"]);
  assert.deepEqual(names(["lo", "docker0"]), ["lo", "docker0"]);
  assert.deepEqual(names(["127.0.0.1"]), ["lo"]);
  assert.deepEqual(
    chooseInterfaces(all, ["192.0.2.2", "wlan9"]),
    {
      chosen: [{ ...ETH, addresses: ETH.addresses.slice(0, 1) }],
      missing: ["wlan9"],
    },
  );
});

Deno.test("announcedAddresses tells only what peers on the interface can reach (MDN-01, MDN-03)", () => {
  const all = [LO, ETH, WLAN, DOCKER];
  assert.deepEqual(announcedAddresses(LO, all), ["127.0.0.1"]);
  assert.deepEqual(
    announcedAddresses(ETH, all),
    ["192.0.2.2", "fd00::2", "192.0.2.3"],
  );
  assert.deepEqual(announcedAddresses(WLAN, all), ["192.0.2.3", "192.0.2.2"]);
  const bare = interfaceOf("usb0", "lan", "fe80::9/64");
  assert.deepEqual(announcedAddresses(bare, [ETH, bare]), ["fe80::9"]);
  assert.equal(multicastAddress(ETH, "IPv6"), "fe80::2");
  assert.equal(multicastAddress(LO, "IPv6"), undefined);
});

Deno.test("isOnLink keeps loopback and foreign prefixes out when a LAN interface hears them", () => {
  for (
    const [address, expected] of [
      ["192.0.2.200", true],
      ["fe80::77", true],
      ["192.0.3.1", false],
      ["127.0.0.1", false],
      ["172.17.0.1", false],
    ] as const
  ) assert.equal(isOnLink(ETH, address), expected, address);
  assert.equal(isOnLink(LO, "127.0.0.5"), true);
  assert.equal(isOnLink(LO, "192.0.2.2"), false);
});

Deno.test("createDenoInterfaces reads the kinds from sysfs when there is one", async () => {
  const sys = "/sys/class/net";
  const files = new MemoryFiles({
    [`${sys}/eth0/type`]: "1\n",
    [`${sys}/docker0/bridge/bridge_id`]: "x",
    [`${sys}/docker0/brif/vethabc/port_no`]: "1",
    [`${sys}/vethabc/brport/port_no`]: "1",
    [`${sys}/vmbr0/bridge/bridge_id`]: "x",
    [`${sys}/vmbr0/brif/enp3s0/port_no`]: "1",
    [`${sys}/enp3s0/device/vendor`]: "0x8086",
    [`${sys}/home/tun_flags`]: "0x1",
    [`${sys}/mesh/uevent`]: "DEVTYPE=wireguard\n",
    [`${sys}/nine/type`]: "65534\n",
  });
  const listed = (name: string, address: string, bits: number) => ({
    name,
    family: address.includes(":") ? "IPv6" as const : "IPv4" as const,
    address,
    cidr: `${address}/${bits}`,
    scopeid: address.startsWith("fe80") ? 7 : null,
  });
  const rows: ListedAddress[] = [
    listed("lo", "127.0.0.1", 8),
    listed("eth0", "10.0.0.2", 24),
    listed("eth0:1", "10.0.0.9", 24),
    listed("eth0", "fe80::1", 64),
    listed("docker0", "172.17.0.1", 16),
    listed("vethabc", "fe80::2", 64),
    listed("vmbr0", "10.1.0.2", 24),
    listed("home", "10.8.0.2", 24),
    listed("mesh", "10.9.0.2", 24),
    listed("nine", "10.10.0.2", 24),
    listed("../../etc", "10.11.0.2", 24),
  ];
  const look = createDenoInterfaces(files, () => rows);
  const kinds = (await look()).map((one) => [one.name, one.kind]);
  assert.deepEqual(kinds, [
    ["lo", "loopback"],
    ["eth0", "lan"],
    ["docker0", "container_bridge"],
    ["vethabc", "bridge_port"],
    ["vmbr0", "lan"],
    ["home", "tunnel"],
    ["mesh", "tunnel"],
    ["nine", "tunnel"],
    ["../../etc", "lan"],
  ]);
  const [, eth0] = groupAddresses(rows);
  assert.equal(eth0?.index, 7);
  assert.equal(eth0?.addresses.length, 3);
});

Deno.test("kindByName knows the usual names when there is no sysfs", () => {
  for (
    const [name, kind] of [
      ["en0", "lan"],
      ["bridge0", "lan"],
      ["bridge100", "container_bridge"],
      ["utun4", "tunnel"],
      ["awdl0", "tunnel"],
      ["lo0", "loopback"],
      ["br-0123456789ab", "container_bridge"],
      ["br-lan", "lan"],
      ["wlan0", "lan"],
    ] as const
  ) assert.equal(kindByName(name), kind, name);
});
