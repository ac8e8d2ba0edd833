import type { NodeId, QueueReport, WorkReport } from "@covey/core/domain";

/** What a member says of one engine with one model, and of this entry's dispatches. */
export function reportWith(
  entryId: NodeId,
  queue: QueueReport,
  seen = 4,
): WorkReport {
  return {
    engines: [{
      id: "sim/1",
      offers: [{
        model: "m",
        root: null,
        capabilities: ["chat"],
        features: [],
        contextLength: 4096,
        sizeBytes: null,
        state: { kind: "loading", remainingMs: 1000 },
        device: "cpu",
        queue,
        rates: {
          prefillTokensPerSecond: 100,
          tpotMs: [10],
          loadTimeMs: 0,
          observations: 0,
          typicalError: 0.5,
          expectedOutputTokens: 100,
        },
      }],
    }],
    dispatchesSeen: { [entryId]: seen },
  };
}
