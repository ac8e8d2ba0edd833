import assert from "node:assert/strict";
import { parseWorkReport } from "../../src/link/work_wire.ts";
import { makeIdentity } from "./link_fixture.ts";
import { reportWith } from "./report_of.ts";

Deno.test("parseWorkReport leaves out what a newer version says and keeps the rest", async () => {
  const { id: entryId } = await makeIdentity(2);
  const report = reportWith(entryId, {
    slots: 2,
    runningMs: [100, 300],
    waitingMs: [50],
  });
  const [engine] = report.engines;
  const [offer] = engine?.offers ?? [];
  const read = parseWorkReport({
    engines: [{
      id: "sim/1",
      later: true,
      offers: [
        { ...offer, capabilities: ["chat", "telepathy"] },
        { ...offer, state: { kind: "frozen" } },
      ],
    }],
    dispatchesSeen: { [entryId]: 4, nobody: 3 },
  });
  assert.deepEqual(read, report);
  for (const wrong of [null, 3, [], {}, { engines: [] }]) {
    assert.equal(parseWorkReport(wrong), undefined);
  }
});
