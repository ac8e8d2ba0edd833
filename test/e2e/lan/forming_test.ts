import { lanTest } from "./lan_test_case.ts";
import { PROMISED, runScenario, type ScenarioBounds } from "./scenario.ts";

/** Twice what is promised: the machine that tests may be slow. */
const BOUNDS: ScenarioBounds = {
  formedMs: 2 * PROMISED.formedMs,
  movedMs: 2 * PROMISED.movedMs,
  excludedMs: 2 * PROMISED.excludedMs,
  backMs: 2 * PROMISED.backMs,
  refusedMs: 2 * PROMISED.refusedMs,
};

lanTest(
  "two hosts form, move at once, lose and find each other, and notice a death",
  [],
  async () => {
    await runScenario(2, BOUNDS);
  },
);
