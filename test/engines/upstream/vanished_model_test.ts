import assert from "node:assert/strict";
import { eventually } from "../../../scripts/lab/eventually.ts";
import { Fault } from "../../../src/domain/mod.ts";
import {
  openAiAnswer,
  startUpstreamServer,
} from "../../fakes/upstream_server.ts";
import { setUpUpstreams } from "./upstream_setup.ts";

/** A server with one model, which somebody may take away, and with no route for ranking. */
function startServer(gone: { isGone: boolean }) {
  return startUpstreamServer((call) => {
    switch (call.path) {
      case "/v1/models":
        return Response.json({ data: gone.isGone ? [] : [{ id: "m" }] });
      case "/v1/chat/completions":
        return gone.isGone
          ? Response.json({
            error: { message: `model "m" not found, try pulling it first` },
          }, { status: 404 })
          : openAiAnswer(call);
      default:
        return undefined;
    }
  });
}

Deno.test("a model that went from one server is served by another", async () => {
  let askedInVain = 0;
  // Whichever is asked first: once it is the one that has lost the model.
  for (const lost of [0, 1]) {
    const states = [0, 1].map(() => ({ isGone: false }));
    await using stack = new AsyncDisposableStack();
    const servers = states.map((state) => stack.use(startServer(state)));
    await using setup = await setUpUpstreams({
      ports: servers.map(({ port }) => port),
      ownPorts: [],
    });
    for (const [at, state] of states.entries()) state.isGone = at === lost;
    assert.match((await setup.ask({ model: "m" })).text, /\[DONE\]/);
    askedInVain += servers[lost]?.callsOf("/v1/chat/completions").length ?? 0;
  }
  assert.equal(askedInVain, 1);
});

Deno.test("a server whose only model went says so to its caller, and is looked at again at once", async () => {
  const state = { isGone: false };
  await using server = startServer(state);
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  state.isGone = true;
  await assert.rejects(
    setup.ask({ model: "m" }),
    (error) =>
      error instanceof Fault && error.code === "model_not_found" &&
      /"up" says that it does not have the model "m"/.test(error.message),
  );
  await eventually(
    "the model is offered no more",
    () =>
      Promise.resolve(
        setup.router.models().length === 0 ? true : undefined,
      ),
  );
  assert.equal(setup.router.standing()[0]?.engines[0]?.breaker, "closed");
});

Deno.test("a route that a server does not have is told of in its own words", async () => {
  await using server = startUpstreamServer(({ path }) =>
    path === "/v1/models" ? Response.json({ data: [{ id: "m" }] }) : undefined
  );
  await using setup = await setUpUpstreams({ kind: "vllm", url: server.url });
  const { status, text } = await setup.ask({ model: "m" });
  assert.deepEqual([status, text], [404, "404 page not found"]);
});
