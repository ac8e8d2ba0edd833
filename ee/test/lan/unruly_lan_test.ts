/**
 * Three nodes on the LAN in memory, with their real routers and the real link
 * between them, under random requests, leavings, deaths, drains and cables that
 * are pulled: each request ends once, and nothing is given twice or kept.
 *
 * @module
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { InferenceRequest } from "@covey/core/domain";
import { Caller } from "../../../test/fakes/caller.ts";
import { chatRequest } from "../../../test/fakes/chat_request.ts";
import { NumberedNode } from "../../../test/fakes/numbered_node.ts";
import {
  happen,
  NODES,
  type Stage,
  TURNS,
} from "../../../test/fakes/unruly_turn.ts";
import { licensedFor } from "../licence/issuer.ts";
import { nodeIdOf } from "../link/link_fixture.ts";
import { type LanHost, TestLan } from "./test_lan.ts";

/** Engines that are slow and hang may each be waited for as long as others are answered there. */
const LONGEST_MS = 4 * 10 * 60_000;

/** A LAN whose nodes have engines of changing moods. */
class UnrulyLan implements Stage, AsyncDisposable {
  readonly lan = new TestLan();
  readonly callers: Caller[] = [];
  readonly #nodes: NumberedNode[] = [];
  readonly #hosts: LanHost[] = [];

  static async of(count: number): Promise<UnrulyLan> {
    const unruly = new UnrulyLan();
    const { licence, licenceKeys } = await licensedFor(9);
    for (let n = 1; n <= count; n++) {
      const host = await unruly.lan.add(n, {
        config: { licence },
        licenceKeys,
        router: (peers, clock) => {
          const node = new NumberedNode({
            id: nodeIdOf(n),
            slots: n === 2 ? 2 : 1,
            clock,
            peers,
          });
          unruly.#nodes.push(node);
          return node.router;
        },
      });
      unruly.#hosts.push(host);
    }
    await unruly.lan.untilWhole(10_000, ...unruly.#hosts);
    return unruly;
  }

  node(at: number): NumberedNode {
    return this.#nodes[at] ?? assert.fail();
  }

  ask(at: number, part: Partial<InferenceRequest>, isLazy = false): Caller {
    const caller = new Caller(this.node(at).router, chatRequest(part), isLazy);
    this.callers.push(caller);
    return caller;
  }

  async wait(ms: number): Promise<void> {
    // Time to be off line and back, not to tire of polls.
    await this.lan.clock.advance(Math.min(ms, 7000));
  }

  async pause(ms: number): Promise<void> {
    await this.lan.clock.pause(ms);
  }

  /** The cable of a host, whoever is meant. */
  cut(at: number, _to: number, is: boolean): void {
    const host = this.#hosts[at] ?? assert.fail();
    if (is) host.cut();
    else host.mend();
  }

  /** Between two hosts alone. */
  away(at: number, to: number, is: boolean): void {
    const pair = [this.#hosts[at], this.#hosts[to]];
    this.lan.split(
      is ? (a, b) => a !== b && pair.includes(a) && pair.includes(b) : null,
    );
  }

  poll(): void {}

  /** All is well again, and all requests come to their end. */
  async calm(): Promise<void> {
    this.lan.split(null);
    for (const host of this.#hosts) host.mend();
    for (const { engine, router } of this.#nodes) {
      engine.mood = { kind: "answers", gapMs: 40 };
      router.drain(false);
    }
    for (const caller of this.callers) caller.hurry();
    await this.lan.until(
      "every request ends",
      LONGEST_MS,
      () => this.callers.every(({ end }) => end !== "open"),
    );
    await this.lan.untilWhole(90_000, ...this.#hosts);
    await this.lan.clock.advance(5000);
  }

  assertAtRest(): void {
    for (const caller of this.callers) caller.assertEnded();
    for (const node of this.#nodes) node.assertAtRest();
    const sent = this.#nodes.flatMap(({ engine }) => engine.asked);
    assert.equal(new Set(sent).size, sent.length, "an attempt ran twice");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lan[Symbol.asyncDispose]();
  }
}

Deno.test("whatever happens over the link, each request ends once, and nothing is given twice or kept", async () => {
  await fc.assert(
    fc.asyncProperty(TURNS, async (turns) => {
      await using unruly = await UnrulyLan.of(NODES);
      for (const turn of turns) {
        await happen(unruly, turn);
        for (let at = 0; at < NODES; at++) unruly.node(at).assertBounds();
      }
      await unruly.calm();
      unruly.assertAtRest();
    }),
    { numRuns: Number(Deno.env.get("COVEY_PROPERTY_RUNS") ?? 3) },
  );
});
