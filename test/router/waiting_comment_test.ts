import assert from "node:assert/strict";
import type { LoadState } from "../../src/domain/mod.ts";
import { waitingComment } from "../../src/router/waiting_comment.ts";
import { offerOf } from "../fakes/scripted_engine.ts";

Deno.test("waitingComment says how far the load is that a caller waits for", () => {
  const said = (state: LoadState, model = "m") =>
    new TextDecoder().decode(waitingComment({
      view: () => ({
        availability: { kind: "available" },
        hop: { medianMs: 0, jitterMs: 0 },
        offers: [offerOf({ state })],
        dispatchesSeen: Infinity,
      }),
    }, model));
  const loading = { kind: "loading", remainingMs: 4_200 } as const;
  assert.equal(
    said({ ...loading, progress: 0.427 }),
    ": loading 42 %, about 5 s left\n\n",
  );
  assert.equal(said(loading), ": loading, about 5 s left\n\n");
  assert.equal(said({ kind: "cold" }), ": queued\n\n");
  assert.equal(said(loading, "another"), ": queued\n\n");
  assert.equal(
    new TextDecoder().decode(waitingComment(null, "m")),
    ": queued\n\n",
  );
});
