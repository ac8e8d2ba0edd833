import assert from "node:assert/strict";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { AddressBook } from "../../src/membership/address_book.ts";
import type { MemberRow } from "../../src/membership/member_row.ts";
import { Membership } from "../../src/membership/membership.ts";
import { nodeIdOf } from "../link/link_fixture.ts";
import { keyOf, rowOf } from "./rows.ts";

function applicant(n: number, id = n) {
  return { id: nodeIdOf(id), keyHash: keyOf(n), name: `node-${n}` };
}

function membershipOf(rows: readonly MemberRow[] = []) {
  const log = new QuietLog();
  let changes = 0;
  const membership = new Membership({
    self: applicant(1),
    rows,
    log,
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
  assert.match(result.reason, /"node-1" and "node-2".*covey remove/);
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
