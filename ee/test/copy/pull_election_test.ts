import assert from "node:assert/strict";
import fc from "fast-check";
import type { NodeId } from "@covey/core/domain";
import {
  elect,
  type Election,
  type MemberStanding,
  type Standing,
} from "../../src/copy/pull_election.ts";
import { nodeIdOf } from "../link/link_fixture.ts";

const NOBODY: ReadonlySet<NodeId> = new Set();
const ROOT = "ab".repeat(32);

function member(n: number, standing: Standing): MemberStanding {
  return { node: nodeIdOf(n), name: `node-${n}`, standing };
}

function decide(
  self: number,
  members: readonly MemberStanding[],
  more: {
    readonly bidders?: ReadonlySet<NodeId>;
    readonly leader?: NodeId;
    readonly spoilt?: readonly string[];
  } = {},
): Election {
  return elect({
    self: nodeIdOf(self),
    members,
    bidders: more.bidders ?? NOBODY,
    leader: more.leader ?? null,
    spoilt: new Set(more.spoilt),
  });
}

Deno.test("elect copies from who has it, waits for who fetches it, and fetches what nobody has", () => {
  const has = member(3, { state: "has", model: "m", root: ROOT });
  const fetching = member(2, {
    state: "fetching",
    doneBytes: 1,
    totalBytes: 2,
  });
  const none = member(4, { state: "none" });
  assert.deepEqual(decide(1, [fetching, none, has]), {
    kind: "copy",
    root: ROOT,
  });
  assert.deepEqual(decide(1, [none, fetching]), {
    kind: "wait",
    node: nodeIdOf(2),
    name: "node-2",
    doneBytes: 1,
    totalBytes: 2,
  });
  assert.deepEqual(decide(1, [none, has], { spoilt: [ROOT] }), {
    kind: "fetch",
  });
});

Deno.test("elect waits on for a member that is too busy to answer, and for no other that is silent", () => {
  const silent = member(2, { state: "silent" });
  assert.equal(decide(3, [silent]).kind, "fetch");
  const waiting = decide(3, [silent], { leader: nodeIdOf(2) });
  assert.equal(waiting.kind, "wait");
});

/** A node of the model: where it stands, and whom it has asked. */
interface Bidder {
  phase: "none" | "bidding" | "fetching" | "waiting";
  readonly heard: Set<NodeId>;
  readonly answers: Map<number, Standing>;
  toAsk: number[];
}

Deno.test("elect lets one of several fetch, in whatever order they begin and their questions arrive", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 5 }),
      fc.array(fc.nat(999), { minLength: 60, maxLength: 60 }),
      (count, order) => {
        const nodes = Array.from({ length: count }, (): Bidder => ({
          phase: "none",
          heard: new Set(),
          answers: new Map(),
          toAsk: [],
        }));
        const others = (self: number) =>
          nodes.map((_, at) => at).filter((at) => at !== self);
        // One step of one node: begin, ask one member, or decide.
        const step = (at: number) => {
          const node = nodes[at];
          if (node === undefined) return;
          if (node.phase === "none" || node.phase === "waiting") {
            node.phase = "bidding";
            node.heard.clear();
            node.answers.clear();
            node.toAsk = others(at);
            return;
          }
          if (node.phase === "fetching") return;
          const next = node.toAsk.shift();
          const asked = next === undefined ? undefined : nodes[next];
          if (next !== undefined && asked !== undefined) {
            if (asked.phase === "bidding") asked.heard.add(nodeIdOf(at));
            const standing: Standing = asked.phase === "fetching"
              ? { state: "fetching", doneBytes: 0, totalBytes: null }
              : { state: asked.phase };
            node.answers.set(next, standing);
            return;
          }
          const choice = decide(
            at,
            [...node.answers].map(([n, standing]) => member(n, standing)),
            { bidders: node.heard },
          );
          node.phase = choice.kind === "fetch" ? "fetching" : "waiting";
        };
        for (const draw of order) step(draw % count);
        const fetching = () =>
          nodes.filter(({ phase }) => phase === "fetching").length;
        assert.ok(fetching() <= 1, `${fetching()} fetch`);
        // In the end one does.
        for (let turn = 0; turn < 40; turn++) {
          for (const at of nodes.keys()) step(at);
        }
        assert.equal(fetching(), 1);
      },
    ),
    { numRuns: 2000 },
  );
});
