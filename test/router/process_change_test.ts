import assert from "node:assert/strict";
import { CLOSED_BREAKER, settleBreaker } from "../../src/router/breaker.ts";
import {
  afterProcessChange,
  type Blame,
  NO_PROCESS,
  processIn,
} from "../../src/router/process_change.ts";
import { Standings } from "../../src/router/standings.ts";
import { nodeIdOf, offerOf } from "../fakes/scripted_engine.ts";

/** An engine whose processes a test replaces, and what failed there. */
class Tried {
  readonly standings = new Standings();
  readonly place;
  standing: string | null;
  nowMs = 0;

  constructor(process: string | null = "one") {
    this.standing = process;
    this.place = {
      key: "2/embedded",
      node: nodeIdOf(2),
      process: (model: string) => model === "m" ? this.standing : "other",
    };
  }

  end(
    outcome: "error" | "success",
    process: string | null = this.standing,
  ): void {
    const pass = this.standings.pass(this.place, this.nowMs);
    this.standings.settle(
      this.place,
      pass,
      { engine: outcome, member: "neutral" },
      this.nowMs,
      20,
      outcome === "error" ? { model: "m", process } : undefined,
    );
  }

  /** The process dies under so many attempts, and the next one stands. */
  die(attempts: number, next: string | null): void {
    const died = this.standing;
    this.standing = null;
    for (let n = 0; n < attempts; n++) this.end("error", died);
    this.standing = next;
  }

  get doubts(): number {
    return this.standings.doubt(this.place, this.nowMs)?.errors ?? 0;
  }

  bar() {
    return this.standings.bar(this.place, this.nowMs);
  }

  get breaker() {
    return this.standings.engineBreaker(this.place, this.nowMs);
  }
}

Deno.test("Standings doubts a process that failed until another one stands in its place", () => {
  const tried = new Tried();
  tried.die(1, null);
  assert.equal(tried.doubts, 1, "nobody stands yet");
  tried.standing = "one";
  assert.equal(tried.doubts, 1, "the same stands, as a stale view says");
  tried.standing = "two";
  assert.equal(tried.doubts, 0);
  tried.end("error");
  assert.equal(tried.doubts, 1, "its own failure counts");
});

Deno.test("Standings opens no breaker of the next process for one that died under many attempts", () => {
  const tried = new Tried();
  tried.die(12, null);
  assert.equal(tried.bar()?.kind, "breaker_open");
  assert.equal(tried.breaker, "open");
  tried.standing = "two";
  assert.equal(tried.bar(), null);
  assert.equal(tried.breaker, "closed");
  assert.equal(tried.doubts, 0);
  // What came to its end only now was broken off by the same death.
  tried.end("error", "one");
  assert.deepEqual([tried.bar(), tried.doubts], [null, 0]);
  for (let n = 0; n < 3; n++) tried.end("error");
  assert.equal(tried.bar(), null, "three of its own, and one death");
  tried.end("error");
  assert.equal(tried.bar()?.kind, "breaker_open");
});

Deno.test("Standings doubts from the second process on one that dies again and again, and opens at the fifth", () => {
  const tried = new Tried("process 1");
  const doubts: number[] = [];
  for (let n = 1; n <= 4; n++) {
    tried.die(3, `process ${n + 1}`);
    doubts.push(tried.doubts);
    assert.equal(tried.bar(), null);
    tried.nowMs += 1000;
  }
  assert.deepEqual(doubts, [0, 2, 3, 4]);
  tried.die(1, "process 6");
  assert.deepEqual(tried.bar(), { kind: "breaker_open", retryInMs: 30_000 });
  tried.standing = "process 7";
  assert.equal(tried.bar()?.kind, "breaker_open", "a new one changes nothing");
  tried.nowMs += 30_000;
  assert.equal(tried.breaker, "half_open");
  tried.end("success");
  tried.end("success");
  assert.equal(tried.breaker, "closed");
  assert.equal(tried.doubts, 0);
  tried.die(1, "process 8");
  assert.equal(tried.doubts, 0, "what was before the breaker closed is over");
});

Deno.test("Standings forgets a death after a minute, so that rare ones are no flapping", () => {
  const tried = new Tried("process 1");
  for (let n = 1; n <= 8; n++) {
    tried.die(1, `process ${n + 1}`);
    assert.equal(tried.doubts, 0, `death ${n}`);
    tried.nowMs += 60_000;
  }
});

Deno.test("Standings forgives nothing where processes have no names, or another model's was replaced", () => {
  const unnamed = new Tried(null);
  unnamed.end("error", NO_PROCESS);
  unnamed.end("error", null);
  assert.equal(unnamed.doubts, 2);
  const tried = new Tried();
  tried.standings.settle(
    tried.place,
    tried.standings.pass(tried.place, 0),
    { engine: "error", member: "neutral" },
    0,
    0,
    { model: "m", process: "one" },
  );
  assert.equal(tried.place.process("n"), "other");
  assert.equal(tried.doubts, 1);
});

Deno.test("Standings ends a rest when another process stands, but not for one that dies again and again", () => {
  const time = { monotonicMs: 0, wallMs: 0 };
  const tried = new Tried();
  tried.standings.rest(tried.place, "20", time, { model: "m", process: "one" });
  assert.equal(tried.bar()?.kind, "cooling_down");
  tried.standing = "two";
  assert.equal(tried.bar(), null);
  assert.equal(tried.standings.restsForMs(tried.place, 0), 0);
  tried.die(1, "three");
  tried.die(1, "four");
  tried.standings.rest(tried.place, "20", time, {
    model: "m",
    process: "four",
  });
  tried.standing = "five";
  assert.equal(tried.bar()?.kind, "cooling_down");
  // A quota is nobody's process.
  const provider = new Tried(null);
  provider.standings.rest(provider.place, "20", time, {
    model: "m",
    process: NO_PROCESS,
  });
  assert.equal(provider.bar()?.kind, "cooling_down");
});

Deno.test("afterProcessChange counts each attempt for itself that no name was known for", () => {
  const blames: Blame[] = [1, 2, 3, 4, 5].map((atMs) => ({
    atMs,
    model: "m",
    process: NO_PROCESS,
  }));
  const breaker = blames.reduce(
    (before, { atMs }) => settleBreaker(before, null, "error", atMs),
    CLOSED_BREAKER,
  );
  const after = (count: number) =>
    afterProcessChange(breaker, blames.slice(0, count), () => "two", 10);
  assert.equal(after(1).doubts, 0);
  assert.equal(after(2).doubts, 2);
  assert.equal(after(5).breaker.state, "open");
});

Deno.test("processIn finds the process of a model in a view", () => {
  const view = {
    availability: { kind: "available" },
    hop: { medianMs: 0, jitterMs: 0 },
    offers: [offerOf({ process: "one" }), offerOf({ model: "n" })],
    dispatchesSeen: 0,
  } as const;
  assert.equal(processIn(view, "m"), "one");
  assert.equal(processIn(view, "n"), null);
  assert.equal(processIn(view, "x"), null);
});
