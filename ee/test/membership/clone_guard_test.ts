import assert from "node:assert/strict";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { formatAddress } from "../../src/link/link_address.ts";
import { CloneGuard } from "../../src/membership/clone_guard.ts";
import { Notes } from "../../src/membership/notes.ts";
import { keyOf } from "./rows.ts";

const KEY = keyOf(2);
const FIRST = { host: "192.0.2.1", port: 11412 };
const SECOND = { host: "192.0.2.2", port: 11412 };
const SIGNAL = new AbortController().signal;

/** A guard in a world where boot ids answer at addresses. */
function guardIn(world: Map<string, string>) {
  const log = new QuietLog();
  const notes = new Notes(log);
  const believed: string[] = [];
  const guard = new CloneGuard({
    bootAt: (_key, address) =>
      Promise.resolve(world.get(formatAddress(address)) ?? null),
    nameOf: () => "pi",
    onBelieved: (keyHash) => believed.push(keyHash),
    notes,
  });
  return { guard, log, notes, believed };
}

Deno.test("of two running nodes with one key the first one seen stays, and the other is told where both are (IDN-01)", async () => {
  const world = new Map([["192.0.2.1:11412", "boot-1"], [
    "192.0.2.2:11412",
    "boot-2",
  ]]);
  const { guard: one, log, notes } = guardIn(world);
  await using guard = one;
  assert.equal(await guard.judge(KEY, "boot-1", FIRST, SIGNAL), null);
  for (let poll = 0; poll < 5; poll++) {
    const told = await guard.judge(KEY, "boot-2", SECOND, SIGNAL);
    assert.match(
      told ?? "",
      /"pi".*the one at 192\.0\.2\.1:11412 was seen first.*the one at 192\.0\.2\.2:11412 is refused; run `covey identity reset` there/,
    );
    assert.equal(await guard.judge(KEY, "boot-1", FIRST, SIGNAL), null);
  }
  assert.deepEqual(guard.holderAt(KEY), FIRST);
  assert.match(notes.of(KEY) ?? "", /Two running nodes/);
  assert.equal(log.lines.length, 1, "it is logged once");
  assert.match(guard.refusal(KEY, "boot-2", SECOND) ?? "", /is refused/);
  assert.equal(guard.refusal(KEY, "boot-1", FIRST), null);
});

Deno.test("a member that has started again is believed at once, at its old address or a new one", async () => {
  const world = new Map([["192.0.2.1:11412", "boot-2"]]);
  const { guard: one, log } = guardIn(world);
  await using guard = one;
  await guard.judge(KEY, "boot-1", FIRST, SIGNAL);
  assert.equal(await guard.judge(KEY, "boot-2", FIRST, SIGNAL), null);
  world.clear();
  assert.equal(await guard.judge(KEY, "boot-3", SECOND, SIGNAL), null);
  assert.deepEqual(guard.holderAt(KEY), SECOND);
  assert.equal(log.lines.length, 0);
});

Deno.test("a copy is served until it is known for one, and takes over once the first is gone", async () => {
  const world = new Map([["192.0.2.1:11412", "boot-1"]]);
  const { believed, guard, notes } = guardIn(world);
  await guard.judge(KEY, "boot-1", FIRST, SIGNAL);
  assert.equal(guard.refusal(KEY, "boot-2", SECOND), null);
  assert.equal(guard.isBelieved(KEY, "boot-2"), false);
  assert.equal(guard.isBelieved(KEY, null), true, "an older version says none");
  await guard.judge(KEY, "boot-2", SECOND, SIGNAL);
  assert.match(guard.refusal(KEY, "boot-2", SECOND) ?? "", /refused/);
  world.clear();
  assert.equal(await guard.judge(KEY, "boot-2", SECOND, SIGNAL), null);
  assert.equal(guard.refusal(KEY, "boot-2", SECOND), null);
  assert.equal(notes.of(KEY), null);
  await guard[Symbol.asyncDispose]();
  assert.ok(believed.every((keyHash) => keyHash === KEY));
});
