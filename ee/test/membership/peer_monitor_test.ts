import assert from "node:assert/strict";
import { ManualClock } from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { LinkError, type LinkProblem } from "../../src/link/link_error.ts";
import { OPEN_DOOR } from "../../src/membership/door.ts";
import { PeerMonitor } from "../../src/membership/peer_monitor.ts";
import type { StatusMessage } from "../../src/membership/status_message.ts";
import type { TestVerdict } from "../../src/membership/test_call.ts";

const STATUS: StatusMessage = {
  version: "0.1.0",
  bootId: "boot",
  name: "peer",
  linkPort: 1,
  draining: false,
  rows: [],
  addresses: [],
  door: OPEN_DOOR,
  work: { engines: [], dispatchesSeen: {} },
};

const PASSED: TestVerdict = {
  kind: "reported",
  report: { passed: true, by: "token", reason: null },
};
const FAILED: TestVerdict = {
  kind: "reported",
  report: { passed: false, by: "token", reason: "It gave no token" },
};

/** A monitor of a peer that the test makes answer or fail. */
class Watched implements AsyncDisposable {
  readonly clock = new ManualClock();
  answer: "ok" | LinkProblem = "ok";
  tookMs = 0;
  heardMs: number | null = null;
  polls = 0;
  verdict: TestVerdict = PASSED;
  /** What its test takes. */
  testMs = 0;
  tests = 0;
  offline = 0;
  readonly log = new QuietLog();
  readonly monitor: PeerMonitor = new PeerMonitor({
    clock: this.clock,
    log: this.log,
    name: "peer",
    poll: async (signal) => {
      this.polls++;
      const { answer } = this;
      if (answer === "timeout") await this.clock.sleep(1000, signal);
      if (answer !== "ok") throw new LinkError(answer, "As the test says");
      return { status: STATUS, roundTripMs: 3 };
    },
    test: async (signal) => {
      this.tests++;
      if (this.testMs > 0) await this.clock.sleep(this.testMs, signal);
      return this.verdict;
    },
    lastHeardMs: () => this.heardMs,
    onStatus: () => {},
    onOffline: () => this.offline++,
  });

  /** Be met, and go away. */
  async leave(): Promise<void> {
    await this.clock.advance(100);
    this.answer = "refused";
    await this.clock.advance(5000);
    assert.equal(this.state, "offline");
    this.answer = "ok";
  }

  get state() {
    return this.monitor.health.state;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.monitor[Symbol.asyncDispose]();
  }
}

Deno.test("PeerMonitor finds a peer healthy at first sight and polls it every 2 s", async () => {
  await using peer = new Watched();
  assert.equal(peer.state, "offline");
  await peer.clock.advance(0);
  assert.equal(peer.state, "healthy");
  assert.deepEqual(peer.monitor.hop(), { medianMs: 3, jitterMs: 0 });
  const before = peer.polls;
  await peer.clock.advance(10_000);
  assert.equal(peer.polls - before, 5);
});

Deno.test("PeerMonitor puts a silent peer off line within 5 s, by way of degraded", async () => {
  await using peer = new Watched();
  await peer.clock.advance(100);
  peer.answer = "timeout";
  await peer.clock.advance(3000);
  assert.equal(peer.state, "degraded");
  assert.equal(peer.monitor.availability().kind, "degraded");
  await peer.clock.advance(2000);
  assert.equal(peer.state, "offline");
  assert.equal(peer.offline, 1);
});

Deno.test("PeerMonitor puts a peer off line at once when all addresses refuse", async () => {
  await using peer = new Watched();
  await peer.clock.advance(100);
  peer.answer = "refused";
  peer.monitor.pollNow();
  await peer.clock.advance(0);
  assert.equal(peer.state, "offline");
  assert.equal(peer.offline, 1);
});

Deno.test("PeerMonitor has a peer that comes back tested before it is used", async () => {
  await using peer = new Watched();
  await peer.leave();
  peer.testMs = 300;
  const before = peer.polls;
  await peer.clock.advance(1000);
  assert.equal(peer.state, "recovery");
  assert.equal(peer.monitor.availability().kind, "unavailable");
  await peer.clock.advance(300);
  assert.equal(peer.state, "healthy");
  assert.deepEqual([peer.polls - before, peer.tests], [1, 1]);
});

Deno.test("PeerMonitor takes a second poll for the test of a peer whose build knows none", async () => {
  await using peer = new Watched();
  await peer.leave();
  peer.verdict = { kind: "too_old" };
  const before = peer.polls;
  await peer.clock.advance(1000);
  assert.equal(peer.state, "healthy");
  assert.equal(peer.polls - before, 2, "a poll and a test");
});

Deno.test("PeerMonitor waits 5, 10, 20, 40 and 60 s after failed tests, however well polls go", async () => {
  await using peer = new Watched();
  await peer.leave();
  peer.verdict = FAILED;
  const at: number[] = [];
  for (let second = 0; second < 210; second++) {
    const before = peer.tests;
    await peer.clock.advance(1000);
    if (peer.tests > before) at.push(second);
    assert.equal(peer.state, "offline");
  }
  const pauses = at.slice(1).map((second, n) => second - (at[n] ?? 0));
  assert.deepEqual(pauses, [5, 10, 20, 40, 60, 60]);
  peer.verdict = PASSED;
  await peer.clock.advance(60_000);
  assert.equal(peer.state, "healthy");
  // What once failed is forgotten.
  await peer.leave();
  peer.verdict = FAILED;
  await peer.clock.advance(2000);
  const before = peer.tests;
  await peer.clock.advance(5000);
  assert.equal(peer.tests, before + 1);
});

Deno.test("PeerMonitor goes on asking a peer whose test takes long, and gives the test up when it has gone", async () => {
  await using peer = new Watched();
  await peer.leave();
  peer.testMs = 10_000;
  const before = peer.polls;
  await peer.clock.advance(5000);
  assert.equal(peer.state, "recovery");
  assert.equal(peer.tests, 1);
  assert(peer.polls - before >= 4, `${peer.polls - before}`);
  peer.answer = "broken";
  await peer.clock.advance(1000);
  assert.equal(peer.state, "offline");
  // Its test did not fail: nothing keeps it away when it is there again.
  peer.answer = "ok";
  peer.testMs = 0;
  await peer.clock.advance(1000);
  assert.equal(peer.state, "healthy");
  assert.equal(peer.tests, 2);
});

Deno.test("PeerMonitor takes a young byte for a pass, but not where the peer refuses to talk", async () => {
  await using peer = new Watched();
  await peer.clock.advance(100);
  peer.answer = "broken";
  peer.heardMs = 2000;
  peer.monitor.pollNow();
  await peer.clock.advance(0);
  assert.equal(peer.state, "healthy");
  peer.answer = "protocol";
  peer.monitor.pollNow();
  await peer.clock.advance(0);
  assert.equal(peer.state, "degraded");
});

Deno.test("PeerMonitor tells what a peer says instead of a status once that has lasted, and logs it once", async () => {
  await using peer = new Watched();
  const said = () =>
    peer.log.lines.filter(({ message }) =>
      message === "A member gives no status"
    );
  peer.answer = "protocol";
  await peer.clock.advance(0);
  assert.deepEqual([peer.monitor.denial, said()], [null, []], "news spreads");
  await peer.clock.advance(60_000);
  assert.equal(peer.monitor.denial, "As the test says");
  assert.equal(said().length, 1);
  peer.answer = "timeout";
  await peer.clock.advance(5_000);
  assert.equal(peer.monitor.denial, null, "it says nothing now");
});

Deno.test("PeerMonitor asks a peer that it cannot read no sooner for being woken, but at once for who waits", async () => {
  await using peer = new Watched();
  peer.answer = "protocol";
  await peer.clock.advance(5000);
  const before = peer.polls;
  // Each asks the other for its status, and each answer wakes the other.
  for (let n = 0; n < 100; n++) {
    peer.monitor.pollNow();
    await peer.clock.advance(1);
  }
  assert(peer.polls - before <= 1, `${peer.polls - before}`);
  peer.answer = "ok";
  await peer.monitor.refreshed(new AbortController().signal);
  assert.equal(peer.state, "healthy");
  const polls = peer.polls;
  peer.monitor.pollNow();
  await peer.clock.advance(0);
  assert.equal(peer.polls, polls + 1, "it is read again");
});

Deno.test("PeerMonitor.refreshed ends with its signal, and with the monitor", async () => {
  const peer = new Watched();
  await peer.clock.advance(0);
  peer.answer = "timeout";
  const stop = new AbortController();
  const waiting = peer.monitor.refreshed(stop.signal);
  await peer.clock.advance(10);
  stop.abort();
  await waiting;
  const last = peer.monitor.refreshed(new AbortController().signal);
  await peer[Symbol.asyncDispose]();
  await last;
  await peer.monitor.refreshed(new AbortController().signal);
});
