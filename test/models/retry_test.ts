import assert from "node:assert/strict";
import { createSeededEntropy, ManualClock } from "../../src/platform/mod.ts";
import { checkStatus } from "../../src/models/pull/hub_http.ts";
import { retry, SourceUnreachable } from "../../src/models/pull/retry.ts";

const FOREVER = new AbortController().signal;

/** Ask a source that answers so, until it is done or given up; returns the waits between. */
async function waits(
  answers: readonly { readonly status: number; readonly retryAfter?: string }[],
) {
  const waitedMs: number[] = [];
  const clock = Object.assign(new ManualClock(784_111_777_000), {
    sleep(ms: number) {
      waitedMs.push(ms);
      return Promise.resolve();
    },
  });
  let at = 0;
  const ask = () => {
    const { retryAfter, status } = answers[at++] ?? { status: 200 };
    const headers = new Headers();
    if (retryAfter !== undefined) headers.set("retry-after", retryAfter);
    checkStatus({ headers, status }, "file");
    return Promise.resolve("done");
  };
  const ports = { clock, entropy: createSeededEntropy(1) };
  const given = await retry(ports, ask, FOREVER).catch((error) => error);
  return { given, waitedMs };
}

Deno.test("retry asks again no sooner than a busy source wants, in seconds or by date", async () => {
  for (
    const retryAfter of ["90", "Sun, 06 Nov 1994 08:51:07 GMT"]
  ) {
    const { given, waitedMs } = await waits([
      { status: 429, retryAfter },
      { status: 503, retryAfter: "0" },
    ]);
    const [first = 0, second = 0, ...more] = waitedMs;
    assert.deepEqual([given, first, more], ["done", 90_000, []]);
    assert.ok(second > 0, "0 asks for no hammering");
  }
});

Deno.test("retry waits by itself where a busy source says nothing of use, as after a clock that jumped", async () => {
  for (const retryAfter of ["soon", "-5", "Sun, 06 Nov 1988 08:51:07 GMT"]) {
    const { given, waitedMs } = await waits([{ status: 429, retryAfter }]);
    assert.deepEqual([given, waitedMs.length], ["done", 1]);
    assert.ok((waitedMs[0] ?? 0) > 0 && (waitedMs[0] ?? 0) < 20_000);
  }
});

Deno.test("retry gives a source up that wants to be left alone for long, or answers nothing six times", async () => {
  const long = await waits([{ status: 429, retryAfter: "86400" }]);
  assert.ok(long.given instanceof SourceUnreachable);
  assert.deepEqual(long.waitedMs, []);
  const often = await waits(Array(6).fill({ status: 503 }));
  assert.ok(often.given instanceof SourceUnreachable);
  assert.equal(often.waitedMs.length, 5);
});

Deno.test("SourceUnreachable says how the last try ended, and no address: one may hold a signature", () => {
  const cause = new TypeError("fetch failed", {
    cause: new Error(
      "error sending request for url (https://cdn.test/f?sig=(s3cret)): client error (Connect): dns error",
    ),
  });
  const { message } = new SourceUnreachable(cause);
  assert.match(
    message,
    /\(at last: error sending request: client error \(Connect\): dns error\);/,
  );
  assert.ok(!message.includes("s3cret"));
});
