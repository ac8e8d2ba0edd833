import assert from "node:assert/strict";
import type { InterfaceUse } from "../src/discovery/mod.ts";
import { Whereabouts } from "../src/whereabouts.ts";
import { keyOf } from "./membership/rows.ts";

const PEER = keyOf(2);
const OTHER = keyOf(3);
const END = { host: "127.0.0.1", port: 40001 };

function use(
  name: string,
  addresses: readonly string[],
  used: InterfaceUse["use"],
): InterfaceUse {
  return {
    use: used,
    one: {
      name,
      kind: used === "used" ? "lan" : "container_bridge",
      index: null,
      addresses: addresses.map((address) => ({
        address,
        family: address.includes(":") ? "IPv6" : "IPv4",
        prefixLength: 24,
      })),
    },
  };
}

/** A node of the LAN, with a docker bridge, and a tunnel that ends at `END`. */
function place(
  more: {
    readonly linkHost?: string;
    readonly advertise?: readonly string[];
    readonly callback?: number | null;
  } = {},
): Whereabouts {
  return new Whereabouts({
    config: {
      secret: null,
      previousSecret: null,
      linkHost: more.linkHost ?? "0.0.0.0",
      linkPort: 11412,
      advertise: more.advertise ?? [],
      peers: [],
      mdnsInterfaces: null,
      licence: null,
    },
    port: () => 11412,
    interfaces: () => [
      use("eth0", ["192.0.2.1", "fe80::1", "2001:db8::1"], "used"),
      use("docker0", ["172.17.0.1"], "kind"),
    ],
    callbackPort: ({ port }) => port === END.port ? more.callback : undefined,
    isMember: () => true,
  });
}

Deno.test("Whereabouts names the usable interfaces' addresses for a link on all of them", () => {
  assert.deepEqual(place().own(), ["192.0.2.1:11412", "[2001:db8::1]:11412"]);
  assert.deepEqual(place({ linkHost: "127.0.0.1" }).own(), [
    "127.0.0.1:11412",
  ]);
  assert.deepEqual(place({ advertise: ["198.51.100.7"] }).own(), [
    "198.51.100.7:11412",
  ]);
});

Deno.test("Whereabouts knows every address of this node for its own (MDN-01)", () => {
  const places = place({ advertise: ["198.51.100.7"] });
  const hosts = [
    "172.17.0.1",
    "192.0.2.1",
    "::ffff:192.0.2.1",
    "fe80::1%eth0",
    "198.51.100.7",
    "127.0.0.1",
    "::1",
  ];
  for (const host of hosts) {
    assert.equal(places.isOwn({ host, port: 11412 }), true, host);
    assert.equal(places.isOwn({ host, port: 11413 }), false, host);
  }
  assert.equal(places.isOwn({ host: "192.0.2.2", port: 11412 }), false);
  const lan = place({ linkHost: "192.0.2.1" });
  assert.equal(lan.isOwn({ host: "127.0.0.1", port: 11412 }), false);
});

Deno.test("Whereabouts learns a caller's address, and over a tunnel only the way back", () => {
  const places = place();
  const lan = { keyHash: PEER, address: "192.0.2.2" };
  places.heard(lan, { linkPort: 11412, callback: undefined });
  const there = { host: "192.0.2.2", port: 11412 };
  assert.deepEqual(places.book.candidates(PEER), [there]);

  const tunnel = { keyHash: OTHER, address: "127.0.0.1" };
  places.heard(tunnel, { linkPort: 12000, callback: 43121 });
  const back = { host: "127.0.0.1", port: 43121 };
  assert.deepEqual(places.book.candidates(OTHER), [back]);
  assert.equal(places.callback(OTHER), null);
  places.book.met(OTHER, back);
  places.book.met(PEER, there);
  const passed = places.passOn(
    { keyHash: PEER, address: "127.0.0.1" },
    { callback: undefined },
    [OTHER],
  );
  assert.deepEqual(passed, [{ keyHash: OTHER, addresses: [] }]);
  // A claim of a tunnel from elsewhere is none.
  places.heard(lan, { linkPort: 11413, callback: 22 });
  assert.ok(!places.book.candidates(PEER).some(({ port }) => port === 22));
});

Deno.test("Whereabouts says to the peer of its own tunnel where the way back is, and who is a worker only", () => {
  const both = place({ callback: 43121 });
  assert.equal(both.callback(PEER), undefined);
  both.dialled(PEER, END, []);
  assert.equal(both.callback(PEER), 43121);
  assert.equal(both.note(PEER), null);
  // Calls of the peer come out of this machine's own ssh.
  both.heard({ keyHash: PEER, address: "127.0.0.1" }, {
    linkPort: 12000,
    callback: undefined,
  });
  assert.deepEqual(both.book.candidates(PEER), [END]);

  const oneWay = place({ callback: null });
  oneWay.dialled(PEER, END, []);
  assert.equal(oneWay.callback(PEER), null);
  assert.match(oneWay.note(PEER) ?? "", /^worker only/);
});
