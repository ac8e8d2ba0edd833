import assert from "node:assert/strict";
import { answering, type Script } from "../../../test/fakes/scripted_engine.ts";
import { ScriptedNode } from "../../../test/fakes/scripted_node.ts";
import { licensedFor } from "../licence/issuer.ts";
import { nodeIdOf } from "../link/link_fixture.ts";
import { type LanHost, TestLan } from "./test_lan.ts";

const HANGING: Script = { kind: "answer", steps: [{ hang: true }] };

/** Nodes of which the last has an engine that it may test. */
class Pool implements AsyncDisposable {
  readonly lan = new TestLan();
  readonly entries: LanHost[] = [];
  /** How the last node's engine answers a test. */
  script: Script = answering("yes");
  #last: { readonly host: LanHost; readonly node: ScriptedNode } | null = null;

  static async of(entries: number): Promise<Pool> {
    const pool = new Pool();
    const { licence, licenceKeys } = await licensedFor(9);
    const means = {
      config: { licence },
      licenceKeys,
    };
    for (let n = 1; n <= entries; n++) {
      pool.entries.push(await pool.lan.add(n, means));
    }
    const n = entries + 1;
    const node = new ScriptedNode(nodeIdOf(n), () => 1, () => pool.script);
    const host = await pool.lan.add(n, {
      ...means,
      router: (peers, clock) => node.createRouter(peers, clock),
    });
    pool.#last = { host, node };
    await pool.lan.untilWhole(3000, ...pool.entries, host);
    return pool;
  }

  get member(): LanHost {
    return this.#last?.host ?? assert.fail();
  }

  /** Test tasks that the last node's engine was asked. */
  get tests(): number {
    return this.#last?.node.engine.attempts
      .filter(({ request }) => request.client === "test-task").length ?? 0;
  }

  /** Take the last node away until every other one knows. */
  async away(): Promise<void> {
    this.member.cut();
    await this.lan.until("gone", 8000, () => this.isEverywhere("offline"));
  }

  isEverywhere(health: string): boolean {
    return this.entries.every(({ node }) =>
      node.member(this.member.n)?.health === health
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lan[Symbol.asyncDispose]();
  }
}

Deno.test("a member that returns sound is tested once for two entries, and back within 3 s", async () => {
  await using pool = await Pool.of(2);
  assert.equal(pool.tests, 0, "first sight needs no test");
  await pool.away();
  pool.member.mend();
  await pool.lan.until("back", 3000, () => pool.isEverywhere("healthy"));
  assert.equal(pool.tests, 1);
  const counted = pool.entries.map(({ node }) =>
    node.metrics.counts.get("covey_member_health_changes_total{to=recovery}")
  );
  assert.deepEqual(counted, [1, 1]);
});

Deno.test("a member that returns with a hung engine is no candidate until a later test passes", async () => {
  await using pool = await Pool.of(1);
  await pool.away();
  pool.script = HANGING;
  pool.member.mend();
  const isOffline = () => pool.isEverywhere("offline");
  await pool.lan.until("tested", 3000, () => pool.tests === 1);
  await pool.lan.until("failed", 6000, isOffline);
  const [entry] = pool.entries;
  // It is polled each second, and was met: only its test keeps it away.
  for (let second = 0; second < 15; second++) {
    await pool.lan.clock.advance(1000);
    assert.notEqual(entry?.node.member(pool.member.n)?.health, "healthy");
  }
  const why = entry?.node.log.lines.find(({ fields }) =>
    fields["from"] === "recovery"
  );
  assert.match(String(why?.fields["why"]), /"m" on fake gave no token/);
  pool.script = answering("yes");
  await pool.lan.until("back", 30_000, () => pool.isEverywhere("healthy"));
});
