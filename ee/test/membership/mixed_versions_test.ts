import assert from "node:assert/strict";
import { parseAdmissionPayload } from "../../src/membership/admission_payload.ts";
import { parseMemberRow } from "../../src/membership/member_row.ts";
import { mergeRows } from "../../src/membership/member_table.ts";
import { judgeRows } from "../../src/membership/row_standing.ts";
import { parseStatus } from "../../src/membership/status_message.ts";

/** What the first build with a cluster said, as it went over the link. */
const OLDER_STATUS =
  '{"v":1,"version":"0.1.0","bootId":"8c1b7b1e-2d7e-4f5c-9b07-54e1c2b7a001","name":"pi","linkPort":11412,"draining":false,' +
  '"rows":[{"id":"00000000-0000-4000-8000-000000000001","keyHash":"0000000000000000000000000000000000000000000000000000000000000001","name":"mac","inc":1,"state":"member","seat":"community"},' +
  '{"id":"00000000-0000-4000-8000-000000000002","keyHash":"0000000000000000000000000000000000000000000000000000000000000002","name":"pi","inc":1,"state":"member","seat":"community"}],' +
  '"addresses":[{"keyHash":"0000000000000000000000000000000000000000000000000000000000000001","addresses":[{"host":"192.0.2.1","port":11412}]}],' +
  '"work":{"engines":[],"dispatchesSeen":{}}}';
const OLDER_PAYLOAD = {
  id: "00000000-0000-4000-8000-000000000002",
  name: "pi",
  linkPort: 11412,
  rows: [],
};

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

Deno.test("a status of the first build is read, and so is one with what later ones may add or leave out", () => {
  const older = parseStatus(bytesOf(OLDER_STATUS));
  assert.equal(older.rows.length, 2);
  assert.equal(older.rows[0]?.role, undefined);
  assert.equal(older.addresses[0]?.addresses[0]?.host, "192.0.2.1");
  const { draining: _d, rows: _r, addresses: _a, ...fewer } = JSON.parse(
    OLDER_STATUS,
  );
  const later = parseStatus(
    bytesOf(JSON.stringify({ ...fewer, quantum: { spin: [1, 2] } })),
  );
  assert.deepEqual([later.draining, later.rows, later.addresses], [
    false,
    [],
    [],
  ]);
  // Before versions were said there was one.
  const { v: _v, ...unversioned } = JSON.parse(OLDER_STATUS);
  assert.equal(parseStatus(bytesOf(JSON.stringify(unversioned))).name, "pi");
});

Deno.test("a status of a version too new is refused with a line that says what to do", () => {
  const later = JSON.stringify({ ...JSON.parse(OLDER_STATUS), v: 2 });
  assert.throws(
    () => parseStatus(bytesOf(later)),
    /version 2 of the members' protocol, and this build version 1; update Covey on this node/,
  );
  const other = JSON.stringify({ v: 3, entirely: "different" });
  assert.throws(() => parseStatus(bytesOf(other)), /version 3/);
});

Deno.test("an application of the first build is read as a node's", () => {
  const payload = parseAdmissionPayload(OLDER_PAYLOAD);
  assert.equal(payload?.name, "pi");
  assert.equal(payload?.role, undefined);
  const later = parseAdmissionPayload({ ...OLDER_PAYLOAD, role: "observer" });
  assert.equal(later?.role, "node", "an unknown role counts");
});

Deno.test("what an older member cut off a row does not replace what is whole", () => {
  const text = '{"id":"00000000-0000-4000-8000-000000000003",' +
    `"keyHash":"${"3".padStart(64, "0")}",` +
    '"name":"hub","inc":1,"state":"member","seat":null,' +
    `"role":"controller","tag":"${"c".repeat(32)}"}`;
  const whole = parseMemberRow(JSON.parse(text));
  const { role: _r, tag: _t, ...cut } = JSON.parse(text);
  const old = parseMemberRow(cut);
  assert.ok(whole !== undefined && old !== undefined);
  for (const rows of [[whole, old], [old, whole]]) {
    const { table } = mergeRows(new Map(), rows);
    assert.deepEqual([...table.values()], [whole]);
    assert.deepEqual([...judgeRows(table).values()], ["member"]);
  }
});
