/**
 * A simulated engine behind a bare HTTP server, without a router: what there is
 * to compare with. Takes its settings as JSON; prints its address.
 *
 * @module
 */
import {
  attemptIdOf,
  parseDecisionId,
  parseNodeId,
} from "../../src/domain/mod.ts";
import { createSimulatedEngine } from "../../src/engines/simulated/simulated_engine.ts";
import {
  createSeededEntropy,
  createSystemClock,
} from "../../src/platform/mod.ts";

const node = parseNodeId("00000000-0000-4000-8000-000000000001");
if (node === undefined) throw new RangeError("No node id");
const engine = createSimulatedEngine({
  config: {
    faults: { errorRate: 0, stallMs: 0, dieAfterTokens: null },
    ...JSON.parse(Deno.args[0] ?? "{}"),
  },
  clock: createSystemClock(),
  entropy: createSeededEntropy(1),
  node,
  nodeName: "bare",
});
let asked = 0;

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) =>
    Deno.stdout.writeSync(
      new TextEncoder().encode(`http://127.0.0.1:${port}\n`),
    ),
}, async (request) => {
  const body = await request.json();
  const decision = parseDecisionId(String(++asked).padStart(8, "0"));
  if (decision === undefined) throw new RangeError("No decision id");
  const started = await engine.start({
    id: attemptIdOf(decision, 1),
    entry: node,
    dispatch: asked,
    request: {
      capability: "chat",
      model: body.model,
      source: { kind: "unsaid" },
      stream: false,
      includeUsage: false,
      body,
      promptTokens: 4,
      maxOutputTokens: body.max_tokens,
      inputCount: 1,
      needs: [],
      conversation: null,
      client: "",
    },
    model: body.model,
    expectedOutputTokens: 1,
    predictedMs: 0,
  }, request.signal);
  if (started.kind === "refused") return new Response(null, { status: 503 });
  const answer = await started.answer();
  return new Response(answer.body, { status: answer.status });
});
