import assert from "node:assert/strict";
import { orAborted } from "../../src/platform/mod.ts";

const GONE = new Error("Gone");

Deno.test("orAborted gives what the promise comes to when nobody aborts", async () => {
  const { signal } = new AbortController();
  assert.equal(await orAborted(Promise.resolve(7), signal), 7);
  await assert.rejects(orAborted(Promise.reject(GONE), signal), GONE);
});

Deno.test("orAborted ends with the signal's reason, and hears no late failure of the promise", async () => {
  const leaving = new AbortController();
  const working = Promise.withResolvers<number>();
  const waiting = orAborted(working.promise, leaving.signal);
  leaving.abort(GONE);
  await assert.rejects(waiting, GONE);
  working.reject(new Error("Too late to matter"));
  await Promise.allSettled([working.promise]);
});

Deno.test("orAborted gives the reason of a signal that was aborted before, whatever the promise came to", async () => {
  const aborted = AbortSignal.abort(GONE);
  await assert.rejects(orAborted(Promise.resolve(7), aborted), GONE);
  await assert.rejects(
    orAborted(Promise.reject(new Error("Other")), aborted),
    GONE,
  );
});
