import assert from "node:assert/strict";
import { Fault } from "../../../src/domain/mod.ts";
import { unreadyFault } from "../../../src/engines/upstream/unready.ts";
import { startUpstreamServer } from "../../fakes/upstream_server.ts";
import { setUpUpstreams } from "./upstream_setup.ts";

const LLAMA_SERVER =
  '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}';
const OLLAMA =
  '{"error":"server busy, please try again.  maximum pending requests exceeded"}';

Deno.test("unreadyFault tells what loads or is busy from what is broken", () => {
  const cases: readonly (readonly [
    number,
    string,
    string | null,
    string | null,
    number | null,
  ])[] = [
    [503, LLAMA_SERVER, null, "engine_loading", 2_000],
    [503, LLAMA_SERVER, "7", "engine_loading", 7_000],
    [
      503,
      '{"error":"Model a/b is currently loading"}',
      "0",
      "engine_loading",
      2_000,
    ],
    [503, OLLAMA, null, "queue_full", 1_000],
    [503, OLLAMA, "soon", "queue_full", 1_000],
    [
      503,
      '{"error":{"message":"no slot available"}}',
      "9999999",
      "queue_full",
      3_600_000,
    ],
    [529, '{"type":"error"}', "3", "queue_full", 3_000],
    [503, "", "3", null, null],
    [503, "<html>503 Service Unavailable</html>", null, null, null],
    [503, '{"error":"downloading models failed"}', null, null, null],
  ];
  for (const [status, text, after, code, waitMs] of cases) {
    const fault = unreadyFault(status, text, after);
    assert.equal(fault?.code ?? null, code, text);
    assert.equal(fault?.retryAfterMs ?? null, waitMs, text);
  }
});

async function askBusy(body: string, times: number) {
  await using server = startUpstreamServer(({ path }) =>
    path === "/v1/models"
      ? Response.json({ data: [{ id: "m" }] })
      : new Response(body, { status: 503 })
  );
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  const faults: Fault[] = [];
  for (let n = 0; n < times; n++) {
    await setup.ask().catch((error) => {
      assert(error instanceof Fault);
      faults.push(error);
    });
  }
  return {
    faults,
    breaker: setup.router.standing()[0]?.engines[0]?.breaker,
  };
}

Deno.test("a server that still loads is said to do so, with a time, and its breaker stays closed (PRC-04)", async () => {
  const { faults, breaker } = await askBusy(LLAMA_SERVER, 6);
  assert.deepEqual(
    faults.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
    Array(6).fill(["engine_loading", 2_000]),
  );
  assert.equal(breaker, "closed");
});

Deno.test("an Ollama whose queue is full is no broken one: its caller hears when to ask again", async () => {
  const { faults, breaker } = await askBusy(OLLAMA, 6);
  assert.deepEqual(
    faults.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
    Array(6).fill(["queue_full", 1_000]),
  );
  assert.equal(breaker, "closed");
});
