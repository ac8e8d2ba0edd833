import assert from "node:assert/strict";
import { ManualClock } from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { LinkError, type LinkProblem } from "../../src/link/link_error.ts";
import { OPEN_DOOR } from "../../src/membership/door.ts";
import { PeerMonitor } from "../../src/membership/peer_monitor.ts";
import type { StatusMessage } from "../../src/membership/status_message.ts";

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

/** A monitor of a peer that the test makes answer or fail. */
class Watched implements AsyncDisposable {
  readonly clock = new ManualClock();
  answer: "ok" | LinkProblem = "ok";
  tookMs = 0;
  heardMs: number | null = null;
  polls = 0;
  offline = 0;
  readonly monitor: PeerMonitor = new PeerMonitor({
    clock: this.clock,
    log: new QuietLog(),
    name: "peer",
    poll: async (signal) => {
      this.polls++;
      const { answer } = this;
      if (answer === "timeout") await this.clock.sleep(1000, signal);
      if (answer !== "ok") throw new LinkError(answer, "As the test says");
      return { status: STATUS, roundTripMs: 3 };
    },
    lastHeardMs: () => this.heardMs,
    onStatus: () => {},
    onOffline: () => this.offline++,
  });

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

Deno.test("PeerMonitor tests a peer that comes back before it is used", async () => {
  await using peer = new Watched();
  await peer.clock.advance(100);
  peer.answer = "refused";
  await peer.clock.advance(5000);
  assert.equal(peer.state, "offline");
  peer.answer = "ok";
  const before = peer.polls;
  await peer.clock.advance(1000);
  assert.equal(peer.state, "healthy");
  assert.equal(peer.polls - before, 2, "a poll and a test");
});

Deno.test("PeerMonitor waits longer after each failed test", async () => {
  await using peer = new Watched();
  await peer.clock.advance(100);
  peer.answer = "refused";
  await peer.clock.advance(5000);
  const returned = peer.clock.monotonic();
  // Every poll passes, and every test fails.
  const plan: ("ok" | LinkProblem)[] = [];
  Object.defineProperty(peer, "answer", {
    get: () => plan.shift() ?? "ok",
    configurable: true,
  });
  plan.push("ok", "broken");
  await peer.clock.advance(1000);
  assert.equal(peer.state, "offline");
  await peer.clock.advance(3000);
  assert.equal(peer.state, "offline");
  await peer.clock.advance(3000);
  assert.equal(peer.state, "healthy");
  assert.ok(peer.clock.monotonic() - returned >= 5000);
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
