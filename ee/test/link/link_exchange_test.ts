import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { ManualClock } from "@covey/core/platform";
import { LinkError } from "../../src/link/link_error.ts";
import { LinkExchange } from "../../src/link/link_exchange.ts";

const SILENCE_MS = 4000;

function open() {
  const clock = new ManualClock();
  const bytes = new PassThrough();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  let cause: Error | undefined;
  const response = Object.assign(bytes, {
    statusCode: 200,
    headers: {},
    complete: true,
  }) as unknown as IncomingMessage;
  const exchange = new LinkExchange({
    response,
    failed: failed.promise,
    fail(error) {
      cause ??= error;
      failed.reject(error);
    },
    cause: () => cause,
    sentAtMs: 0,
    clock,
    onHeard() {},
    onServed() {},
    onEnd: () => bytes.destroy(),
  });
  return { clock, bytes, exchange };
}

Deno.test("LinkExchange breaks off with a member that is silent for the limit", async () => {
  const { clock, exchange } = open();
  const read = exchange.read(SILENCE_MS);
  read.catch(() => {});
  await clock.advance(SILENCE_MS);
  await assert.rejects(read, (error) => {
    assert(error instanceof LinkError);
    assert.equal(error.problem, "timeout");
    return true;
  });
  assert.equal(clock.pending, 0);
});

Deno.test("LinkExchange reads on after a pause of this node, however long", async () => {
  const { clock, bytes, exchange } = open();
  const read = exchange.read(SILENCE_MS);
  await clock.advance(500);
  await clock.pause(60_000);
  bytes.write(new Uint8Array([1, 2, 3]));
  assert.deepEqual(await read, new Uint8Array([1, 2, 3]));
  assert.equal(clock.pending, 0);
  exchange.cancel();
});
