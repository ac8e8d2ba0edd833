/**
 * How long one request waits when packets of the members that serve it vanish:
 * the limits of design.md 6, to the millisecond of the LAN's own clock (RTE-06).
 *
 * @module
 */
import assert from "node:assert/strict";
import type {
  AttemptRecord,
  DecisionId,
  RoutedAnswer,
} from "@covey/core/domain";
import { chatRequest } from "../../../test/fakes/chat_request.ts";
import { offerOf } from "../../../test/fakes/scripted_engine.ts";
import { ScriptedNode } from "../../../test/fakes/scripted_node.ts";
import { licensedFor } from "../licence/issuer.ts";
import { nodeIdOf } from "../link/link_fixture.ts";
import { type LanHost, TestLan } from "./test_lan.ts";

const NEVER = new AbortController().signal;
/** For the member's word that it took the attempt; where there is no connection, 1 s for that. */
const ACCEPTED_MS = 2000;
const SILENCE_MS = 4000;
/** What a body's bytes add to that, at most. */
const BODY_MS = 1;

/** An entry without an engine, and members of which each is far slower than the one before. */
class Pool implements AsyncDisposable {
  readonly lan = new TestLan();
  readonly hosts: LanHost[] = [];

  static async of(members: number, tookMs: number): Promise<Pool> {
    const pool = new Pool();
    const { licence, licenceKeys } = await licensedFor(9);
    for (let n = 1; n <= members + 1; n++) {
      const node = new ScriptedNode(nodeIdOf(n), () => tookMs);
      const host = await pool.lan.add(n, {
        config: { licence },
        licenceKeys,
        router: (peers, clock) => node.createRouter(peers, clock),
      });
      const rates = { ...offerOf().rates, tpotMs: [50 ** n] };
      node.engine.offers = n === 1 ? [] : [offerOf({ rates })];
      pool.hosts.push(host);
    }
    await pool.whole();
    return pool;
  }

  async whole(): Promise<void> {
    await this.lan.untilWhole(10_000, ...this.hosts);
    // Until the entry has heard what they offer.
    await this.lan.clock.advance(2000);
  }

  host(n: number): LanHost {
    return this.hosts[n - 1] ?? assert.fail();
  }

  get router() {
    return this.host(1).node.router ?? assert.fail();
  }

  route(stream = true): Promise<RoutedAnswer> {
    const maxOutputTokens = stream ? 100 : null;
    const answer = this.router.route(
      chatRequest({ stream, maxOutputTokens }),
      NEVER,
    );
    answer.catch(() => {});
    return answer;
  }

  attemptsOf(decision: DecisionId): readonly AttemptRecord[] {
    return this.router.decision(decision)?.attempts ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lan[Symbol.asyncDispose]();
  }
}

Deno.test("a request passes members whose packets vanish in 2 s each, whenever they began to (RTE-06)", async () => {
  await using pool = await Pool.of(3, 300);
  // Between two polls, and while one is under way.
  for (const phaseMs of [0, 700]) {
    await pool.lan.clock.advance(phaseMs);
    for (const n of [2, 3]) pool.host(n).cut();
    const asked = [pool.route(), pool.route(false)];
    for (const one of asked) {
      const { body, decision, node } = await pool.lan.settle(one, 20_000);
      await pool.lan.settle(new Response(body).text(), 20_000);
      assert.equal(node, nodeIdOf(4));
      const [first, second, third] = pool.attemptsOf(decision);
      assert(first && second && third);
      assert.deepEqual(
        [first.node, second.node, third.outcome],
        [nodeIdOf(2), nodeIdOf(3), "answered"],
      );
      for (const { endedAtMs, startedAtMs } of [first, second]) {
        const tookMs = Number(endedAtMs) - startedAtMs;
        assert(tookMs <= ACCEPTED_MS + BODY_MS, `${tookMs}`);
      }
      // Nothing passes between two attempts.
      assert.equal(second.startedAtMs, first.endedAtMs);
      assert.equal(third.startedAtMs, second.endedAtMs);
    }
    for (const n of [2, 3]) pool.host(n).mend();
    await pool.whole();
  }
});

Deno.test("what waits or is read at a member whose packets vanish ends within 4 s, and elsewhere goes what has no content (RTE-06)", async () => {
  await using pool = await Pool.of(2, 30_000);
  const { clock } = pool.lan;
  for (const phaseMs of [0, 900]) {
    // The one slot's, and whoever waits for it.
    const reading = await pool.lan.settle(pool.route(), 1000);
    const waiting = pool.route(false);
    await clock.advance(1200 + phaseMs);
    assert.equal(reading.node, nodeIdOf(2));
    pool.host(2).cut();
    const cutAtMs = clock.monotonic();
    let overAtMs = Infinity;
    const text = new Response(reading.body).text().finally(() => {
      overAtMs = clock.monotonic();
    });
    const { decision, node } = await pool.lan.settle(waiting, 60_000);
    assert.equal(node, nodeIdOf(3));
    assert.match(await text, /"code":"link_failed"/);
    assert(overAtMs - cutAtMs <= SILENCE_MS, `${overAtMs - cutAtMs}`);
    const [first, second] = pool.attemptsOf(decision);
    assert(first && second);
    assert.deepEqual([first.node, first.outcome], [nodeIdOf(2), "failed"]);
    // It was sent a round trip before.
    const waitedMs = Number(first.endedAtMs) - (1200 + phaseMs);
    assert(waitedMs <= SILENCE_MS, `${waitedMs}`);
    assert.equal(second.startedAtMs, first.endedAtMs);
    pool.host(2).mend();
    await pool.whole();
  }
});

Deno.test("an attempt that comes through after its entry has left holds no slot, and is not sent again", async () => {
  for (const isUnderWay of [false, true]) {
    for (const outageMs of [0, 2000]) {
      await using pool = await Pool.of(2, 30_000);
      const asked = pool.route();
      // Then its head is on its way, and its body follows with the connection's end.
      if (isUnderWay) await pool.lan.clock.advance(0);
      pool.host(2).cut();
      const { body, node } = await pool.lan.settle(asked, 10_000);
      assert.equal(node, nodeIdOf(3));
      await pool.lan.settle(body.cancel(), 1000);
      await pool.lan.clock.advance(outageMs);
      pool.host(2).mend();
      await pool.whole();
      for (const { node: { router } } of pool.hosts) {
        assert.equal(router?.inFlight(), 0);
      }
    }
  }
});
