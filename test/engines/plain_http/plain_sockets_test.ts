import assert from "node:assert/strict";
import type { HttpClient } from "../../../src/engines/http_client.ts";
import { createOwnFetch } from "../../../src/engines/own_fetch.ts";
import { createUnixHttpClient } from "../../../src/engines/plain_http/plain_client.ts";
import { createSystemClock } from "../../../src/platform/mod.ts";

const never = new AbortController().signal;
const SIZE = 3_000_000;

/** Bytes in which a lost or doubled piece shows. */
function pattern(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at++) bytes[at] = (at * 7 + (at >> 8)) % 251;
  return bytes;
}

/** A server that sends what it got back, or a large body whole or in chunks. */
async function echo(request: Request): Promise<Response> {
  switch (new URL(request.url).pathname) {
    case "/whole":
      return new Response(pattern(SIZE));
    case "/chunks": {
      let left = 30;
      return new Response(
        new ReadableStream({
          pull(controller) {
            controller.enqueue(pattern(SIZE).subarray(0, SIZE / 30));
            if (--left === 0) controller.close();
          },
        }),
      );
    }
    case "/form": {
      const form = await request.formData();
      const file = form.get("file");
      assert(file instanceof File);
      return new Response(`${form.get("model")} ${file.name} ${file.size}`);
    }
    default:
      return new Response(await request.bytes());
  }
}

async function bytesOf(
  client: HttpClient,
  path: string,
  body: string | FormData,
): Promise<Uint8Array> {
  const reply = await client.post({ path, headers: {}, body }, never);
  assert.equal(reply.status, 200);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (;;) {
    const piece = await reply.body.read();
    if (piece === undefined) break;
    pieces.push(new Uint8Array(piece));
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

async function checkAll(client: HttpClient): Promise<void> {
  const large = "sea".repeat(SIZE / 3);
  const form = new FormData();
  form.set("model", "m");
  form.set("file", new File([pattern(1000)], "a.wav"));
  const [back, whole, chunks, said] = await Promise.all([
    bytesOf(client, "/", large),
    bytesOf(client, "/whole", ""),
    bytesOf(client, "/chunks", ""),
    bytesOf(client, "/form", form),
  ]);
  const decoder = new TextDecoder();
  assert(decoder.decode(back) === large);
  assert.deepEqual(whole, pattern(SIZE));
  const thirtieth = pattern(SIZE).subarray(0, SIZE / 30);
  assert.equal(chunks.length, SIZE);
  for (let at = 0; at < SIZE; at += thirtieth.length) {
    assert.deepEqual(chunks.subarray(at, at + thirtieth.length), thirtieth);
  }
  assert.equal(decoder.decode(said), "m a.wav 1000");
}

Deno.test("createUnixHttpClient moves large requests, large answers and forms over a Unix socket", async () => {
  const folder = await Deno.makeTempDir();
  const server = Deno.serve({ path: `${folder}/s`, onListen() {} }, echo);
  try {
    using client = createUnixHttpClient(`${folder}/s`, createSystemClock());
    await checkAll(client);
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("createOwnFetch has one cheap way to each server of the own network, by address or as localhost", async () => {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    echo,
  );
  try {
    using own = createOwnFetch(createSystemClock());
    const client = own.plain(`http://127.0.0.1:${server.addr.port}`);
    assert(client !== null);
    assert.equal(
      own.plain(`http://127.0.0.1:${server.addr.port}`),
      client,
    );
    await checkAll(client);
    const named = own.plain(`http://localhost:${server.addr.port}`);
    assert(named !== null && named !== client);
    assert.equal((await bytesOf(named, "/", "here")).length, 4);
    for (
      const origin of [
        "https://127.0.0.1:1",
        "http://provider.example",
        "http://8.8.8.8",
      ]
    ) {
      assert.equal(own.plain(origin), null, origin);
    }
    assert.notEqual(own.plain("http://[::1]:1"), null);
  } finally {
    await server.shutdown();
  }
});
