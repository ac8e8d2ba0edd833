import assert from "node:assert/strict";
import {
  Fault,
  type ModelPulls,
  type PullRequest,
  type PullView,
} from "../../src/domain/mod.ts";
import { apiUnderTest, LAN, LOOPBACK, operatorOf } from "./api_under_test.ts";

const VIEW: PullView = {
  id: "0123",
  source: "org/repo",
  stage: "downloading",
  doneBytes: 1,
  totalBytes: 2,
  bytesPerSecond: 1,
  remainingMs: 1_000,
  from: [],
};

function pullsUnderTest() {
  const asked: PullRequest[] = [];
  const pulls: ModelPulls = {
    pull(request, tell) {
      asked.push(request);
      if (request.source === "no/where") {
        return Promise.reject(new Fault("not_found", "Not there"));
      }
      // The second says nothing new within a quarter of a second.
      tell(VIEW);
      tell({ ...VIEW, doneBytes: 2 });
      tell({ ...VIEW, stage: "verifying" });
      return Promise.resolve({
        model: "m",
        sizeBytes: 2,
        verified: true,
        from: [],
      });
    },
    list: () => [VIEW],
    cancel: (id) => Promise.resolve(id === VIEW.id),
    pause: (id) => Promise.resolve(id === VIEW.id),
    unpause: (id) => Promise.resolve(id === VIEW.id),
  };
  const { api } = apiUnderTest({ pulls });
  return { asked, send: operatorOf(api) };
}

Deno.test("a pull tells its stages line by line and ends in its outcome", async () => {
  const { asked, send } = pullsUnderTest();
  const response = await send("POST", "/covey/pulls", {
    source: "org/repo",
    revision: "v1",
    max_bytes_per_second: 5_000,
  });
  assert.equal(response.headers.get("content-type"), "application/x-ndjson");
  const lines = (await response.text()).trimEnd().split("\n");
  assert.deepEqual(lines.map((line) => JSON.parse(line)), [
    { status: "downloading", ...VIEW },
    { status: "verifying", ...VIEW, stage: "verifying" },
    { status: "success", model: "m", sizeBytes: 2, verified: true, from: [] },
  ]);
  assert.deepEqual(asked, [
    { source: "org/repo", revision: "v1", maxBytesPerSecond: 5_000 },
  ]);
  const failed = await send("POST", "/covey/pulls", { source: "no/where" });
  assert.deepEqual(await failed.json(), {
    error: "Not there",
    code: "not_found",
  });
});

Deno.test("pulls are listed and cancelled by who may, and bad bodies are refused", async () => {
  const { asked, send } = pullsUnderTest();
  assert.deepEqual(await (await send("GET", "/covey/pulls")).json(), {
    pulls: [VIEW],
  });
  const done = await send("DELETE", "/covey/pulls/0123");
  assert.deepEqual(await done.json(), { cancelled: "0123" });
  const paused = await send("POST", "/covey/pulls/0123/pause", {});
  assert.deepEqual(await paused.json(), { paused: "0123" });
  const resumed = await send("POST", "/covey/pulls/0123/resume", {});
  assert.deepEqual(await resumed.json(), { resumed: "0123" });
  for (
    const [method, path, body, status, from] of [
      ["DELETE", "/covey/pulls/9", undefined, 404, LOOPBACK],
      ["POST", "/covey/pulls/9/pause", {}, 404, LOOPBACK],
      ["POST", "/covey/pulls/9/resume", {}, 404, LOOPBACK],
      ["POST", "/covey/pulls/0123/pause", {}, 401, LAN],
      ["POST", "/covey/pulls", {}, 400, LOOPBACK],
      ["POST", "/covey/pulls", { source: 1 }, 400, LOOPBACK],
      ["POST", "/covey/pulls", { source: "a/b", revision: 1 }, 400, LOOPBACK],
      [
        "POST",
        "/covey/pulls",
        { source: "a/b", max_bytes_per_second: 0 },
        400,
        LOOPBACK,
      ],
      ["POST", "/covey/pulls", { source: "a/b" }, 401, LAN],
      ["GET", "/covey/pulls", undefined, 401, LAN],
    ] as const
  ) {
    const response = await send(method, path, body, from);
    assert.equal(response.status, status, `${method} ${JSON.stringify(body)}`);
    await response.body?.cancel();
  }
  assert.deepEqual(asked, []);
});
