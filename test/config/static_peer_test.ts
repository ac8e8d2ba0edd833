import assert from "node:assert/strict";
import { staticPeer } from "../../src/config/static_peer.ts";

Deno.test("staticPeer reads addresses and ssh peers", () => {
  const table: [string, unknown][] = [
    ["pi.lan:11412", { kind: "address", host: "pi.lan", port: 11412 }],
    ["[fd00::2]:7", { kind: "address", host: "fd00::2", port: 7 }],
    ["ssh://ada@pi", {
      kind: "ssh",
      user: "ada",
      host: "pi",
      port: null,
      linkPort: 11412,
    }],
    ["SSH://Ada_1@Box-2.lan:2203/?link=12000", {
      kind: "ssh",
      user: "Ada_1",
      host: "Box-2.lan",
      port: 2203,
      linkPort: 12000,
    }],
    ["ssh://a@10.0.0.5/", {
      kind: "ssh",
      user: "a",
      host: "10.0.0.5",
      port: null,
      linkPort: 11412,
    }],
  ];
  for (const [text, value] of table) {
    assert.deepEqual(staticPeer(text), { kind: "accepted", value }, text);
  }
});

Deno.test("staticPeer refuses whatever could be more than a user and a host", () => {
  const hostile = [
    "pi.lan",
    "pi.lan:0",
    "ssh://pi",
    "ssh://@pi",
    "ssh://ada@",
    "ssh://-oProxyCommand=x@pi",
    "ssh://ada@-oProxyCommand=x",
    "ssh://ada@-pi",
    "ssh://a;b@pi",
    "ssh://a b@pi",
    "ssh://a@pi;reboot",
    "ssh://a@pi$(id)",
    "ssh://a@pi`id`",
    "ssh://a@pi\nx",
    "ssh://a@pi\u0000",
    "ssh://a@pi/path",
    "ssh://a@b@pi",
    "ssh://a@pi:0",
    "ssh://a@pi:65536",
    "ssh://a@pi?link=0",
    "ssh://a@pi?link=70000",
    "ssh://a@pi?link=1&x=2",
    "ssh://a@[::1]",
    "ssh://a%40b@pi",
    "ssh://ä@pi",
    `ssh://${"a".repeat(65)}@pi`,
    "ssh:ada@pi",
  ];
  for (const text of hostile) {
    assert.equal(staticPeer(text).kind, "refused", text);
  }
});
