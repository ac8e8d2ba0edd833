import assert from "node:assert/strict";
import { chatRequest } from "../fakes/chat_request.ts";
import { type RouterSetup, setUpRouter } from "../fakes/router_setup.ts";
import {
  answering,
  nodeIdOf,
  offerOf,
  ROLE,
  type Script,
  text,
} from "../fakes/scripted_engine.ts";

const NEVER = new AbortController().signal;
const DIES: Script = {
  kind: "answer",
  steps: [ROLE, text("a"), { fail: new Error("the process is gone") }],
};

/** Which node serves a request, run to its end. */
async function serve(setup: RouterSetup): Promise<number> {
  const answer = await setup.router.route(chatRequest(), NEVER);
  await new Response(answer.body).text();
  await setup.clock.advance(0);
  return answer.node === nodeIdOf(1) ? 1 : 2;
}

/** Node 1's engine in a certain process, or with none. */
function stand(setup: RouterSetup, process: string | null): void {
  setup.local.offers = [
    process === null
      ? offerOf({ state: { kind: "cold" } })
      : offerOf({ process }),
  ];
}

Deno.test("route goes back to an engine when another process stands in the place of one that died", async () => {
  for (const isReplaced of [true, false]) {
    let isDying = true;
    const setup = setUpRouter(
      () => isDying ? DIES : answering("x"),
      [() => answering("y")],
      { policy: "balanced" },
    );
    stand(setup, "one");
    assert.equal(await serve(setup), 1);
    isDying = false;
    stand(setup, isReplaced ? "two" : "one");
    // Where it is the same one, its failure counts double; the peer is a little slower.
    assert.equal(await serve(setup), isReplaced ? 1 : 2);
  }
});

Deno.test("route lets the breaker of an engine be when a process dies under many answers, and opens it for one that dies again and again", async () => {
  const setup = setUpRouter(() => DIES, [], { policy: "balanced" });
  const breaker = () => setup.router.standing()[0]?.engines[0]?.breaker;
  stand(setup, "process 0");
  for (let n = 0; n < 5; n++) await serve(setup);
  assert.equal(breaker(), "open");
  stand(setup, "process 1");
  assert.equal(breaker(), "closed");
  for (let n = 1; n < 5; n++) {
    assert.equal(breaker(), "closed");
    stand(setup, `process ${n}`);
    await serve(setup);
  }
  stand(setup, "process 5");
  assert.equal(breaker(), "open");
  await assert.rejects(serve(setup), { code: "no_candidate" });
});

Deno.test("route takes an attempt that was sent before its process had a name for one of a process that is gone", async () => {
  const setup = setUpRouter(() => DIES, [() => answering("y")], {
    policy: "balanced",
    peerOffers: [offerOf({ state: { kind: "cold" } })],
  });
  stand(setup, null);
  assert.equal(await serve(setup), 1);
  stand(setup, "one");
  const answer = await setup.router.route(chatRequest(), NEVER);
  await answer.body.cancel();
  const record = setup.router.decision(answer.decision);
  assert.equal(record?.inputs?.engines[0]?.doubt, undefined);
});
