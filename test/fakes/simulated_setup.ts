import { createSimulatedEngine } from "../../src/engines/simulated/simulated_engine.ts";
import type { SimulatedSettings } from "../../src/engines/simulated/simulated_settings.ts";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { testNodeId } from "./attempt_builder.ts";

/** 100 prompt tokens take 100 ms, a token 10 ms however many sequences run. */
const MODEL = {
  id: "m",
  capability: "chat",
  loadMs: 0,
  prefillTokensPerSecond: 1_000,
  decodeTokensPerSecond: 100,
  batchSlowdown: 0,
  noise: 0,
  slots: 2,
  contextLength: 1_000,
} as const;
const NO_FAULTS = { errorRate: 0, stallMs: 0, dieAfterTokens: null };

/**
 * A simulated engine on a clock of its own, with one model.
 *
 * @param model What differs from a chat model of 100 tokens a second with two slots.
 * @param faults What is to go wrong.
 * @returns The engine, which is the caller's to dispose of, and its clock.
 */
export function setUpSimulated(
  model: Partial<SimulatedSettings["models"][number]> = {},
  faults: Partial<SimulatedSettings["faults"]> = {},
) {
  const clock = new ManualClock();
  const engine = createSimulatedEngine({
    config: {
      kind: "simulated",
      id: "sim",
      models: [{ ...MODEL, ...model }],
      faults: { ...NO_FAULTS, ...faults },
    },
    clock,
    entropy: createSeededEntropy(7),
    node: testNodeId(),
    nodeName: "here",
  });
  return { clock, engine };
}
