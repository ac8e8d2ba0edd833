import assert from "node:assert/strict";
import fc from "fast-check";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { AddressBook } from "../../src/membership/address_book.ts";
import type { MemberRow } from "../../src/membership/member_row.ts";
import {
  Membership,
  type SeatOffice,
} from "../../src/membership/membership.ts";
import { nodeIdOf } from "../link/link_fixture.ts";
import { keyOf, rowOf } from "./rows.ts";

function applicant(n: number, id = n) {
  return { id: nodeIdOf(id), keyHash: keyOf(n), name: `node-${n}` };
}

function membershipOf(
  rows: readonly MemberRow[] = [],
  { self = 1, seats, role = "node" }: {
    self?: number;
    seats?: SeatOffice;
    role?: "node" | "controller";
  } = {},
) {
  const log = new QuietLog();
  let changes = 0;
  const membership = new Membership({
    self: { ...applicant(self), role },
    rows,
    log,
    ...seats === undefined ? {} : { seats },
    onChange: () => changes++,
  });
  return { membership, log, changes: () => changes };
}

Deno.test("Membership.seat takes the founding seat itself and gives the second", () => {
  const { changes, membership } = membershipOf();
  assert.equal(membership.rows()[0]?.seat, null);
  assert.equal(membership.seat(applicant(2), []).kind, "admitted");
  assert.deepEqual(
    membership.rows().map(({ name, seat }) => [name, seat]),
    [["node-1", "community"], ["node-2", "community"]],
  );
  assert.equal(membership.memberOf(keyOf(2)), nodeIdOf(2));
  assert.equal(changes(), 1);
  // An answer was lost and it comes again.
  assert.equal(membership.seat(applicant(2), []).kind, "admitted");
  assert.equal(changes(), 1);
});

Deno.test("Membership.seat refuses a third node and names who has the seats", () => {
  const { membership } = membershipOf([rowOf(1), rowOf(2)]);
  const result = membership.seat(applicant(3), []);
  assert.equal(result.kind, "refused");
  if (result.kind !== "refused") return;
  assert.match(result.reason, /"node-1", "node-2".*covey remove/);
  assert.equal(membership.memberOf(keyOf(3)), undefined);
});

Deno.test("Membership.seat counts the seats that the newcomer's own cluster has given", () => {
  const { membership } = membershipOf();
  const theirs = [rowOf(2), rowOf(3)];
  assert.equal(membership.seat(applicant(2), theirs).kind, "refused");
  assert.deepEqual(membership.peers(), []);
});

Deno.test("Membership.seat refuses a known id with another key, and a removed key (IDN-03)", () => {
  const { membership } = membershipOf([rowOf(1), rowOf(2)]);
  const changed = membership.seat(applicant(9, 2), []);
  assert.match(
    changed.kind === "refused" ? changed.reason : "",
    /identity changed/i,
  );
  assert.equal(membership.memberOf(keyOf(9)), undefined);
  assert.equal(membership.memberOf(keyOf(2)), nodeIdOf(2));
  membership.merge([{ ...rowOf(2), state: "removed" }], "node-1");
  assert.equal(membership.memberOf(keyOf(2)), undefined);
  const removed = membership.seat(applicant(2), []);
  assert.match(removed.kind === "refused" ? removed.reason : "", /removed/);
});

Deno.test("Membership.merge shows a changed identity in the log and lets it not speak", () => {
  const { log, membership } = membershipOf([rowOf(1), rowOf(2)]);
  membership.merge([{ ...rowOf(9), id: nodeIdOf(2) }], "node-2");
  assert.equal(membership.standing(keyOf(9)), "identity_changed");
  assert.equal(membership.memberOf(keyOf(9)), undefined);
  assert.ok(log.lines.some(({ message }) => /identity changed/.test(message)));
});

const LICENSED: SeatOffice = {
  licence: {
    id: "L-7",
    holder: "Lab",
    maxClusterNodes: null,
    notAfterMs: null,
  },
  nowMs: () => 0,
  isOffline: () => false,
};

Deno.test("two halves that each let a node in agree on who keeps the seats, in any order of merges", () => {
  // Two controllers, cut off from each other, with one seated node between them.
  const controllers: MemberRow[] = [1, 2].map((n) => ({
    ...rowOf(n),
    role: "controller",
    seat: null,
  }));
  const start = [...controllers, rowOf(5)];
  fc.assert(fc.property(
    fc.shuffledSubarray([3, 4, 6, 7], { minLength: 2, maxLength: 2 }),
    fc.array(fc.constantFrom("1>2", "2>1"), { minLength: 2, maxLength: 6 }),
    ([left = 0, right = 0], ways) => {
      const halves = [1, 2].map((n) => {
        const { membership } = membershipOf(start, {
          self: n,
          role: "controller",
        });
        const newcomer = applicant(n === 1 ? left : right);
        assert.equal(membership.seat(newcomer, []).kind, "admitted");
        return membership;
      });
      const [one, two] = halves;
      if (one === undefined || two === undefined) throw new Error("No halves");
      for (const way of [...ways, "1>2", "2>1"]) {
        if (way === "1>2") two.merge(one.rows(), "one");
        else one.merge(two.rows(), "two");
      }
      assert.equal(one.digest, two.digest);
      const last = Math.max(left, right, 5);
      for (const half of halves) {
        for (const n of [left, right, 5]) {
          const wanted = n === last ? "unseated" : "member";
          assert.equal(half.standing(keyOf(n)), wanted);
          assert.equal(half.mayWork(keyOf(n)), n !== last);
          assert.equal(half.mayGive(keyOf(n)), n !== last);
        }
        for (const n of [1, 2]) {
          assert.equal(half.mayWork(keyOf(n)), false);
          assert.equal(half.mayGive(keyOf(n)), true);
        }
      }
    },
  ));
});

Deno.test("a licence on a member seats whom a merge left without a seat, and its end unseats nobody", () => {
  const three = [rowOf(1), rowOf(2), rowOf(3)];
  const { membership: community } = membershipOf(three);
  assert.equal(community.standing(keyOf(3)), "unseated");
  const { membership: licensed } = membershipOf(three, { seats: LICENSED });
  assert.equal(licensed.standing(keyOf(3)), "member");
  // The other one learns of it by a merge, and keeps it without the licence.
  community.merge(licensed.rows(), "node-2");
  assert.equal(community.standing(keyOf(3)), "member");
  assert.equal(community.digest, licensed.digest);
  const over: SeatOffice = {
    ...LICENSED,
    licence: { id: "L-7", holder: "Lab", maxClusterNodes: 1, notAfterMs: 1 },
    nowMs: () => 2,
  };
  const { membership: later } = membershipOf(licensed.rows(), { seats: over });
  assert.equal(later.standing(keyOf(3)), "member");
  assert.equal(later.seat(applicant(4), []).kind, "refused");
});

Deno.test("Membership.seat removes the off-line row of a machine that is back under another identity", () => {
  const tag = "b".repeat(32);
  const { membership } = membershipOf([rowOf(1), { ...rowOf(2), tag }], {
    seats: {
      licence: null,
      nowMs: () => 0,
      isOffline: (keyHash) => keyHash === keyOf(2),
    },
  });
  const again = { ...applicant(3), tag };
  assert.equal(membership.seat(again, []).kind, "admitted");
  assert.equal(membership.standing(keyOf(2)), "removed");
  assert.equal(membership.mayWork(keyOf(3)), true);
});

Deno.test("a controller that has become a node wants a seat and gets one", () => {
  const was: MemberRow = { ...rowOf(2), role: "controller", seat: null };
  const { membership: own } = membershipOf([rowOf(1), was], { self: 2 });
  assert.equal(own.wantsSeat, true);
  const { membership: other } = membershipOf([rowOf(1), was]);
  assert.equal(other.wantsSeat, false);
  assert.equal(other.seat(applicant(2), own.rows()).kind, "admitted");
  assert.equal(other.mayWork(keyOf(2)), true);
  own.merge(other.rows(), "node-1");
  assert.equal(own.wantsSeat, false);
});

Deno.test("AddressBook dials where a member was last met, then what was heard since, then older places (MDN-06)", () => {
  const book = new AddressBook();
  const at = (host: string) => ({ host, port: 11412 });
  book.met(keyOf(2), at("192.0.2.1"));
  book.met(keyOf(2), at("192.0.2.2"));
  book.hint(keyOf(2), at("192.0.2.3"));
  book.hint(keyOf(2), at("192.0.2.1"));
  assert.deepEqual(
    book.candidates(keyOf(2)).map(({ host }) => host),
    ["192.0.2.2", "192.0.2.3", "192.0.2.1"],
  );
  book.met(keyOf(2), at("192.0.2.3"));
  assert.equal(book.candidates(keyOf(2))[0]?.host, "192.0.2.3");
  for (let n = 10; n < 30; n++) book.hint(keyOf(2), at(`192.0.2.${n}`));
  assert.ok(book.candidates(keyOf(2)).length <= 8);
});

Deno.test("AddressBook passes on only where the key was met, and no loopback but to this machine", () => {
  const book = new AddressBook();
  const key = keyOf(2);
  book.hint(key, { host: "192.0.2.9", port: 1 });
  book.met(key, { host: "127.0.0.1", port: 2 });
  book.met(key, { host: "192.0.2.1", port: 3 });
  book.met(key, { host: "a-name.local", port: 4 });
  assert.deepEqual(book.passOn(key, false), [{ host: "192.0.2.1", port: 3 }]);
  assert.deepEqual(book.passOn(key, true).map(({ port }) => port), [3, 2]);
  assert.deepEqual(book.passOn(keyOf(3), true), []);
});

Deno.test("AddressBook never learns this node's own address (MDN-01), nor a link-local one without its zone", () => {
  const own = { host: "172.17.0.1", port: 11412 };
  const book = new AddressBook(({ host }) => host === own.host);
  const key = keyOf(2);
  const zoned = { host: "fe80::1%eth0", port: 11412 };
  for (const host of [own.host, "fe80::1", "FEBF::2", zoned.host]) {
    book.hint(key, { host, port: 11412 });
  }
  assert.deepEqual(book.candidates(key), [zoned]);
  const good = { host: "192.0.2.9", port: 11412 };
  book.sighted(key, [own, { host: "fe80::1", port: 1 }, good]);
  assert.deepEqual(book.sightedAt(key), [good]);
  book.met(key, zoned);
  assert.deepEqual(book.passOn(key, true), []);
});

Deno.test("AddressBook takes multicast DNS at its last word (MDN-06)", () => {
  const book = new AddressBook();
  const at = (host: string) => ({ host, port: 11412 });
  book.sighted(keyOf(2), [at("169.254.1.5")]);
  book.sighted(keyOf(2), [at("192.0.2.9")]);
  assert.deepEqual(book.candidates(keyOf(2)), [at("192.0.2.9")]);
});

Deno.test("AddressBook dials tunnel ends, and neither keeps nor passes them on", () => {
  const book = new AddressBook();
  const key = keyOf(2);
  const end = { host: "127.0.0.1", port: 40001 };
  const there = { host: "192.0.2.9", port: 11412 };
  book.tunnel(key, end);
  book.met(key, end);
  book.met(key, there);
  assert.deepEqual(book.candidates(key), [there, end]);
  assert.deepEqual(book.metAt(key), [there]);
  assert.deepEqual(book.passOn(key, true), [there]);
  book.closeTunnel(end);
  assert.deepEqual(book.candidates(key), [there]);
});
