import assert from "node:assert/strict";
import { estimate } from "../../src/router/estimate.ts";
import { timeLimits } from "../../src/router/time_limits.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import { offerOf } from "../fakes/scripted_engine.ts";

function limits(
  part: Parameters<typeof chatRequest>[0],
  tpotMs: number,
  outputTokens = 100,
) {
  const rates = { ...offerOf().rates, tpotMs: [tpotMs] };
  const offer = offerOf({ rates });
  const request = chatRequest({ promptTokens: 0, ...part });
  const predicted = estimate({
    work: { capability: "chat", promptTokens: 0, outputTokens },
    offer,
    availability: { kind: "available" },
    hop: { medianMs: 0, jitterMs: 0 },
    unseenMs: [],
  });
  return timeLimits(request, offer, predicted);
}

Deno.test("timeLimits allows 15 s at least, three times the prediction and twenty tokens", () => {
  const [quick, slow] = [limits({}, 10), limits({}, 1000)];
  assert.deepEqual(
    quick,
    { firstByteMs: 15_000, wholeMs: 15_000, idleMs: 15_000 },
  );
  assert.deepEqual(
    slow,
    { firstByteMs: 300_000, wholeMs: 300_000, idleMs: 20_000 },
  );
});

Deno.test("timeLimits lets an answer that is no stream be as long as its limit", () => {
  const part = { stream: false, maxOutputTokens: 4000 };
  assert.equal(limits(part, 10).wholeMs, 1000 + 1.5 * 40_000);
  assert.equal(limits(part, 10).firstByteMs, 15_000);
  // Without a limit the context is one.
  const open = { stream: false, maxOutputTokens: null };
  assert.equal(limits(open, 10).wholeMs, 1000 + 1.5 * 81_920);
});
