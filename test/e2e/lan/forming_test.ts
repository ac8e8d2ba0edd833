import assert from "node:assert/strict";
import { eventually } from "../../../scripts/lab/eventually.ts";
import {
  areHealthy,
  makeFolder,
  membersBecome,
  startLanNode,
} from "../../../scripts/lab/lan/lan_node.ts";
import { lanTest } from "./lan_test_case.ts";
import {
  PROMISED,
  runScenario,
  type ScenarioBounds,
} from "../../../scripts/lab/lan/scenario.ts";
import { TestLan } from "../../../scripts/lab/lan/test_lan.ts";

/** How much slower than promised a loaded machine may be; `bench:lan` measures. */
const PATIENCE = 5;
const BOUNDS: ScenarioBounds = {
  formedMs: PATIENCE * PROMISED.formedMs,
  movedMs: PATIENCE * PROMISED.movedMs,
  excludedMs: PATIENCE * PROMISED.excludedMs,
  backMs: PATIENCE * PROMISED.backMs,
  refusedMs: PATIENCE * PROMISED.refusedMs,
};

lanTest(
  "three licensed hosts form, move at once, lose and find one that is cut off, and notice a death",
  [],
  async () => {
    await runScenario(3, BOUNDS);
  },
);

lanTest(
  "a third host without a licence is refused with the reason on both sides, and the two go on",
  [],
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(3));
    const folder = await makeFolder(stack);
    const start = async (number: number) =>
      stack.use(await startLanNode(lan.host(number), { folder }));
    const pair = await Promise.all([start(1), start(2)]);
    await membersBecome("the two meet", pair, areHealthy(2), 20_000);
    const third = await start(3);
    const refused = /"message":"This node was refused by a cluster[^\n]*licen/;
    const refusing = /"message":"A node was not admitted[^\n]*licen/;
    await eventually("both sides say why", () => {
      const told = pair.map(({ process }) => process.log()).join("\n");
      const isSo = refused.test(third.process.log()) && refusing.test(told) ||
        // The third may be the one that was asked: then it says so itself.
        refusing.test(third.process.log()) && refused.test(told);
      return Promise.resolve(isSo ? true : undefined);
    });
    await membersBecome("the two go on", pair, areHealthy(2), 20_000);
    assert.equal((await third.members()).length, 1);
  },
);
