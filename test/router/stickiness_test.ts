import assert from "node:assert/strict";
import fc from "fast-check";
import type { Source } from "../../src/domain/mod.ts";
import type { EngineSnapshot } from "../../src/router/candidate.ts";
import { parseModelName } from "../../src/router/model_name.ts";
import { place } from "../../src/router/place.ts";
import { nodeIdOf, offerOf } from "../fakes/scripted_engine.ts";

const HOME = 2;
const PREFILL_PER_SECOND = 500;
const TPOT_MS = 20;
const OUTPUT_TOKENS = 100;
const HOP_MS = 1;
const JITTER_MS = 4;
/** A second in the queue weighs as one and a half, and 5 % are a tie (design.md 6). */
const QUEUE_WEIGHT = 1.5;
const TIE = 1.05;

/** A conversation whose history lies on one of two equal nodes. */
interface Talk {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** The node that the client called. */
  readonly entry: number;
  readonly source: Source;
}

function engineAt(node: number, talk: Talk, waitMs: number): EngineSnapshot {
  const isHome = node === HOME;
  const { rates } = offerOf();
  return {
    key: `${node}/e`,
    node: nodeIdOf(node),
    nodeName: `node-${node}`,
    engine: "e",
    view: {
      availability: { kind: "available" },
      hop: node === talk.entry
        ? { medianMs: 0, jitterMs: 0 }
        : { medianMs: HOP_MS, jitterMs: JITTER_MS },
      offers: [offerOf({
        queue: {
          slots: 1,
          runningMs: isHome && waitMs > 0 ? [waitMs] : [],
          waitingMs: [],
        },
        contextLength: 100_000,
        rates: {
          ...rates,
          prefillTokensPerSecond: PREFILL_PER_SECOND,
          tpotMs: [TPOT_MS],
        },
      })],
      dispatchesSeen: Infinity,
    },
    unseenMs: () => [],
    bar: null,
    cachedTokens: () => isHome ? talk.cachedTokens : 0,
  };
}

function stays(talk: Talk, waitMs: number, seed: number): boolean {
  const placement = place({
    demand: {
      model: parseModelName("m"),
      capability: "chat",
      source: talk.source,
      promptTokens: talk.promptTokens,
      inputCount: 1,
      needs: [],
      expected: { meanTokens: OUTPUT_TOKENS, medianTokens: OUTPUT_TOKENS },
    },
    engines: [1, 2, 3].map((node) => engineAt(node, talk, waitMs)),
    self: nodeIdOf(talk.entry),
    policy: "balanced",
    seed,
  });
  assert(placement.kind === "placed");
  return placement.first.engine.node === nodeIdOf(HOME);
}

/** The wait up to which its home is worth it: what is saved, by the factors of the rules. */
function longestWaitMs(talk: Talk): number {
  const savedMs = talk.cachedTokens / PREFILL_PER_SECOND * 1000;
  const wholeMs = talk.promptTokens / PREFILL_PER_SECOND * 1000 +
    TPOT_MS * OUTPUT_TOKENS;
  const hopMs = (node: number) => node === talk.entry ? 0 : HOP_MS;
  const homeMs = wholeMs - savedMs + hopMs(HOME);
  if (talk.source.kind === "cluster") {
    // As good as equal is good enough, for whoever has the history.
    const otherMs = wholeMs + Math.min(hopMs(1), hopMs(3));
    return (otherMs * TIE - homeMs) / QUEUE_WEIGHT;
  }
  return talk.entry === HOME
    // Another node must be better by a tie and the way's jitter.
    ? ((wholeMs + HOP_MS) * TIE + JITTER_MS - homeMs) / QUEUE_WEIGHT
    // Its home must be, or the request stays where it came in.
    : ((wholeMs - JITTER_MS) / TIE - homeMs) / QUEUE_WEIGHT;
}

const talks = fc.record({
  historyTokens: fc.integer({ min: 200, max: 50_000 }),
  questionTokens: fc.integer({ min: 1, max: 2000 }),
  entry: fc.constantFrom(1, HOME),
  source: fc.constantFrom<Source>({ kind: "unsaid" }, { kind: "cluster" }),
  seed: fc.nat(),
});

Deno.test("a conversation keeps its home up to the wait that its history is worth, and not a moment longer (RTE-04)", () => {
  fc.assert(
    fc.property(talks, (one) => {
      const { entry, seed, source } = one;
      const talk = {
        entry,
        source,
        cachedTokens: one.historyTokens,
        promptTokens: one.historyTokens + one.questionTokens,
      };
      const longestMs = longestWaitMs(talk);
      // A short history is no reason to call another node than one's own.
      if (longestMs < 1) return;
      assert(stays(talk, 0, seed), "it is idle");
      assert(stays(talk, longestMs * (1 - 1e-9), seed), `${longestMs} ms`);
      assert(!stays(talk, longestMs * (1 + 1e-9), seed), `${longestMs} ms`);
    }),
    { numRuns: 300 },
  );
});
