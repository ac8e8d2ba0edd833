import assert from "node:assert/strict";
import { CHUNK_BYTES } from "@covey/core/domain";
import {
  createSeededEntropy,
  ManualClock,
  MemoryFiles,
} from "@covey/core/platform";
import { LinkError } from "../../src/link/link_error.ts";
import { NotHeldError } from "../../src/copy/copy_error.ts";
import { BulkConnection } from "../../src/copy/bulk_connection.ts";
import { FakeLan, TestNode } from "../cluster_fixture.ts";
import { makeIdentity } from "../link/link_fixture.ts";
import { MemoryShelf, MODELS } from "./memory_shelf.ts";

const SIGNAL = new AbortController().signal;
const REQUEST = { path: "/", offset: 0, length: 4, headers: {} };

/** Somebody on loopback who takes connections and says nothing. */
async function withMute(
  test: (
    open: (clock: ManualClock) => Promise<BulkConnection>,
  ) => Promise<void>,
) {
  const identity = await makeIdentity(1);
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const taken: Deno.Conn[] = [];
  const taking = (async () => {
    for await (const connection of listener) taken.push(connection);
  })();
  const { port } = listener.addr;
  const { certificatePem } = identity;
  try {
    await test((clock) =>
      BulkConnection.open(
        { address: { host: "127.0.0.1", port }, certificatePem },
        identity,
        clock,
        SIGNAL,
      )
    );
  } finally {
    for (const connection of taken) connection.close();
    listener.close();
    await taking;
  }
}

Deno.test("BulkConnection gives a reader back at once when it is told to stop before the member shook hands", async () => {
  await withMute(async (open) => {
    using connection = await open(new ManualClock());
    const stop = new AbortController();
    const got = connection.get(REQUEST, new Uint8Array(4), stop.signal);
    stop.abort(new Error("Paused"));
    await assert.rejects(got, /Paused/);
  });
});

Deno.test("BulkConnection gives up a member that never shakes hands", async () => {
  await withMute(async (open) => {
    const clock = new ManualClock();
    using connection = await open(clock);
    const got = connection.get(REQUEST, new Uint8Array(4), SIGNAL);
    got.catch(() => {});
    await clock.advance(10_000);
    await assert.rejects(got, LinkError);
  });
});

Deno.test("BulkConnection loses nothing else that it asked for by the refusal of a member that sends to many", async () => {
  const { certificatePem, privateKeyPem } = await makeIdentity(1);
  using listener = Deno.listenTls({
    hostname: "127.0.0.1",
    port: 0,
    cert: certificatePem,
    key: privateKeyPem,
  });
  const answering = (async () => {
    using connection = await listener.accept();
    const asked = new Uint8Array(4096);
    // Both questions are on their way before the first answer.
    for (let text = ""; (text.match(/\r\n\r\n/g) ?? []).length < 2;) {
      const count = await connection.read(asked) ?? 0;
      text += new TextDecoder().decode(asked.subarray(0, count));
    }
    await connection.write(new TextEncoder().encode(
      "HTTP/1.1 503 Busy\r\ncontent-length: 6\r\n\r\nLater\n" +
        "HTTP/1.1 206 Part\r\ncontent-length: 4\r\n\r\ngood",
    ));
    await connection.read(asked);
  })();
  {
    using connection = await BulkConnection.open(
      {
        address: { host: "127.0.0.1", port: listener.addr.port },
        certificatePem,
      },
      { certificatePem, privateKeyPem },
      new ManualClock(),
      SIGNAL,
    );
    const room = new Uint8Array(4);
    const refused = connection.get(REQUEST, new Uint8Array(4), SIGNAL);
    refused.catch(() => {});
    const given = connection.get(REQUEST, room, SIGNAL);
    await assert.rejects(refused, NotHeldError);
    assert.equal(await given, 4);
    assert.equal(new TextDecoder().decode(room), "good");
  }
  await answering;
});

Deno.test("a node ends although its disk does not answer for what a member copies from it", async () => {
  const lan = new FakeLan();
  const bytes = createSeededEntropy(9).bytes(CHUNK_BYTES);
  const shelf = new MemoryShelf(
    new MemoryFiles({ [`${MODELS}/m.gguf`]: bytes }),
  );
  await shelf.refresh();
  const isStuck = Promise.withResolvers<void>();
  shelf.readChunk = () => {
    isStuck.resolve();
    return new Promise(() => {});
  };
  const one = new TestNode(1, lan, { models: shelf });
  const files = new MemoryFiles();
  const two = new TestNode(2, lan, { files, models: new MemoryShelf(files) });
  await using second = await two.cluster;
  {
    await using first = await one.cluster;
    await one.log.until("A member is healthy");
    await first.act("copy", { model: "m", to: ["node-2"] }, SIGNAL);
    await isStuck.promise;
  }
  assert.equal(second.members().length, 2);
});
