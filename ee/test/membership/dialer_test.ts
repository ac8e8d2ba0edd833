import assert from "node:assert/strict";
import { createSeededEntropy, ManualClock } from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import type { AdmissionOutcome } from "../../src/admission/admission_outcome.ts";
import type { KeyHash } from "../../src/identity/key_hash.ts";
import type { LinkAddress } from "../../src/link/link_address.ts";
import { LinkError } from "../../src/link/link_error.ts";
import { MemberChannel } from "../../src/link/member_channel.ts";
import {
  type DialTarget,
  MOST_DIALS,
  planDials,
} from "../../src/membership/dial_plan.ts";
import { Dialer } from "../../src/membership/dialer.ts";
import { keyOf } from "./rows.ts";

const HERE: LinkAddress = { host: "192.0.2.2", port: 11412 };

/** A dialer whose every dial reaches one node. */
class Dialling implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly members = new Set<KeyHash>();
  readonly met: KeyHash[] = [];
  answers: KeyHash | null;
  outcome: AdmissionOutcome = { kind: "failed", problem: "no_match" };
  dials = 0;
  admissions = 0;
  ownMet = 0;
  readonly dialer: Dialer;

  constructor(own: KeyHash, answers: KeyHash | null) {
    this.answers = answers;
    this.dialer = new Dialer({
      own,
      clock: this.clock,
      entropy: createSeededEntropy(1),
      log: new QuietLog(),
      dial: ([address]) => {
        this.dials++;
        if (this.answers === null || address === undefined) {
          return Promise.reject(new LinkError("refused", "Nobody is there"));
        }
        const channel = new MemberChannel({
          keyHash: this.answers,
          addresses: () => [],
          credentials: { certificatePem: "", privateKeyPem: "" },
          clock: this.clock,
        });
        return Promise.resolve({ address, channel });
      },
      isMember: (keyHash) => this.members.has(keyHash),
      onMember: (keyHash) => this.met.push(keyHash),
      onOwnKey: () => {
        this.ownMet++;
        return Promise.resolve();
      },
      admit: () => {
        this.admissions++;
        return Promise.resolve(this.outcome);
      },
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dialer[Symbol.asyncDispose]();
  }
}

Deno.test("Dialer begins at once with the smaller key hash and yields with the greater", async () => {
  await using smaller = new Dialling(keyOf(1), keyOf(2));
  smaller.dialer.add("a", "sighting", [HERE]);
  await smaller.clock.advance(0);
  assert.equal(smaller.admissions, 1);

  await using greater = new Dialling(keyOf(3), keyOf(2));
  greater.dialer.add("a", "sighting", [HERE]);
  await greater.clock.advance(400);
  assert.equal(greater.admissions, 0);
  // The other side never came: this one begins after all.
  await greater.clock.advance(200);
  assert.equal(greater.admissions, 1);

  await using taken = new Dialling(keyOf(3), keyOf(2));
  taken.dialer.add("a", "sighting", [HERE]);
  await taken.clock.advance(100);
  taken.members.add(keyOf(2));
  await taken.clock.advance(1000);
  assert.equal(taken.admissions, 0);
  assert.deepEqual(taken.met, [keyOf(2)]);
});

Deno.test("Dialer asks a refusing node again after 10 s, then later and later, and at once when the sighting changes", async () => {
  await using dialling = new Dialling(keyOf(1), keyOf(2));
  const { clock, dialer } = dialling;
  dialer.add("a", "sighting", [HERE]);
  await clock.advance(9000);
  dialer.add("a", "sighting", [HERE]);
  await clock.advance(0);
  assert.equal(dialling.admissions, 1);
  await clock.advance(4000);
  assert.equal(dialling.admissions, 2);
  await clock.advance(15_000);
  assert.equal(dialling.admissions, 2);
  dialer.add("a", "sighting", [{ host: "192.0.2.3", port: 11412 }]);
  await clock.advance(0);
  assert.equal(dialling.admissions, 3);
  dialer.drop("a");
  await clock.advance(3_600_000);
  assert.equal(dialling.admissions, 3);
});

Deno.test("Dialer tries a static peer every 5 s until it can be reached", async () => {
  await using dialling = new Dialling(keyOf(1), null);
  dialling.dialer.add("s", "static", [HERE]);
  await dialling.clock.advance(20_000);
  assert.equal(dialling.dials, 5);
  dialling.answers = keyOf(2);
  dialling.outcome = { kind: "admitted", payload: {} };
  await dialling.clock.advance(5000);
  assert.deepEqual(dialling.met, [keyOf(2)]);
});

Deno.test("Dialer tries a sighting that can not be reached again after 5 s, and then less and less (MDN-09)", async () => {
  await using dialling = new Dialling(keyOf(1), null);
  const { clock, dialer } = dialling;
  dialer.add("a", "sighting", [HERE]);
  await clock.advance(15_000);
  assert.equal(dialling.dials, 4);
  assert.deepEqual(dialer.failed().map(({ problem }) => problem), [
    "unreachable",
  ]);
  await clock.advance(3_600_000);
  assert.ok(dialling.dials < 15, String(dialling.dials));
  dialer.drop("a");
  assert.deepEqual(dialer.failed(), []);
});

Deno.test("Dialer takes its own key for itself and asks nobody", async () => {
  await using dialling = new Dialling(keyOf(1), keyOf(1));
  dialling.dialer.add("a", "sighting", [HERE]);
  await dialling.clock.advance(0);
  assert.equal(dialling.ownMet, 1);
  assert.equal(dialling.admissions, 0);
});

Deno.test("planDials keeps to 4 dials at once, static ones first, and leaves an address alone for 5 s", () => {
  const target = (n: number, more: Partial<DialTarget> = {}): DialTarget => ({
    name: String(n),
    kind: "sighting",
    addresses: [{ host: `192.0.2.${n}`, port: 1 }],
    retry: undefined,
    running: false,
    ...more,
  });
  const many = Array.from({ length: 8 }, (_, n) => target(n));
  const last = target(9, { kind: "static" });
  const plan = planDials([...many, last], new Map(), 0);
  assert.equal(plan.now.length, MOST_DIALS);
  assert.equal(plan.now[0], last);
  const busy = many.map((one, n) => ({ ...one, running: n < MOST_DIALS }));
  assert.deepEqual(planDials(busy, new Map(), 0).now, []);
  assert.deepEqual(
    planDials([target(1)], new Map([["192.0.2.1:1", 1000]]), 3000),
    { now: [], nextInMs: 3000 },
  );
});
