import assert from "node:assert/strict";
import { readBody } from "../../src/platform/body_reader.ts";

async function piecesOf(
  body: ReadableStream<Uint8Array>,
): Promise<readonly Uint8Array[]> {
  const reader = readBody(body);
  const pieces: Uint8Array[] = [];
  for (;;) {
    const piece = await reader.read();
    if (piece === undefined) return pieces;
    pieces.push(piece);
  }
}

Deno.test("readBody gives the bytes of a response, each piece in a buffer of its own size", async () => {
  const long = new Uint8Array(300_000).map((_, at) => at * 31);
  const parts = [new Uint8Array([1, 2, 3]), long, new Uint8Array([4])];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(ReadableStream.from(parts)),
  );
  const { body } = await fetch(`http://127.0.0.1:${server.addr.port}`);
  assert.ok(body);
  const pieces = await piecesOf(body);
  assert.deepEqual(
    await new Blob(pieces.map((piece) => new Uint8Array(piece))).bytes(),
    await new Blob(parts).bytes(),
  );
  for (const { length, buffer } of pieces) {
    assert.equal(buffer.byteLength, length);
  }
  await server.shutdown();
});

Deno.test("readBody takes the chunks of any other stream as they are, and cancels it", async () => {
  const chunk = new Uint8Array([1, 2]);
  assert.equal((await piecesOf(ReadableStream.from([chunk])))[0], chunk);
  let reason: unknown;
  const reader = readBody(
    new ReadableStream({
      cancel(given) {
        reason = given;
      },
    }),
  );
  await reader.cancel("left");
  assert.equal(reason, "left");
});
