import assert from "node:assert/strict";
import {
  createClientWatch,
  openConnections,
} from "../../src/api/client_watch.ts";
import { openListeners } from "../../src/api/mod.ts";
import { ManualClock } from "../../src/platform/mod.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const HEAD =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt";
const row = (local: string, remote: string, state: string) =>
  `   0: 0100007F:${local} 0100007F:${remote} ${state} 00000000:00000000 00:0 0 0`;

Deno.test("openConnections lists the pairs that both ends hold", () => {
  const table = [
    HEAD,
    row("2C93", "0000", "0A"),
    row("2C93", "D431", "01"),
    row("2C93", "D432", "08"),
    "",
    "nonsense",
  ].join("\n");
  assert.deepEqual([...openConnections(table)], ["11411:54321"]);
});

Deno.test("createClientWatch tells one who waits that its client left, and nobody else", async () => {
  const clock = new ManualClock();
  let state = "01";
  const watch = createClientWatch(clock, {
    readText: (path) =>
      path.endsWith("6")
        ? Promise.reject(new Error("no IPv6 here"))
        : Promise.resolve(
          [HEAD, row("2C93", "D431", state), row("2C93", "D432", "01")].join(
            "\n",
          ),
        ),
  });
  const ends = [54321, 54322].map((remotePort) =>
    watch.during(
      { localPort: 11411, remotePort },
      () => new AbortController().signal,
      (left) =>
        new Promise<string>((resolve) => {
          left.addEventListener("abort", () => resolve("left"));
          clock.after(5_000, () => resolve("answered"));
        }),
    )
  );
  await clock.advance(1_000);
  state = "08";
  await clock.advance(5_000);
  assert.deepEqual(await Promise.all(ends), ["left", "answered"]);
  assert.equal(clock.pending, 0, "nothing ticks once nobody waits");
});

Deno.test("createClientWatch asks what else tells only for one who waits a tenth of a second", async () => {
  const clock = new ManualClock();
  const watch = createClientWatch(clock, {
    readText: () => Promise.reject(new Error("no such file")),
  });
  const ports = { localPort: 1, remotePort: 2 };
  const unasked = () => assert.fail("the answer was there at once");
  await watch.during(ports, unasked, () => Promise.resolve());
  await clock.advance(100);
  assert.equal(clock.pending, 0);

  const request = new AbortController();
  let reason: unknown = null;
  const end = watch.during(ports, () => request.signal, async (left) => {
    left.addEventListener("abort", () => reason = left.reason);
    await clock.sleep(1_000);
  });
  await clock.advance(150);
  assert.equal(reason, null);
  request.abort("gone");
  assert.equal(reason, "gone");
  await clock.advance(1_000);
  await end;
});

Deno.test("createClientWatch believes every client where the kernel tells nothing", async () => {
  const clock = new ManualClock();
  const watch = createClientWatch(clock, {
    readText: () => Promise.reject(new Error("no such file")),
  });
  const end = watch.during(
    { localPort: 1, remotePort: 2 },
    () => new AbortController().signal,
    async (left) => {
      await clock.sleep(2_000);
      return left.aborted;
    },
  );
  await clock.advance(2_000);
  assert.equal(await end, false);
});

Deno.test({
  name:
    "SSE-11 openListeners notices a client that leaves before its answer began",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const clock = new ManualClock();
    const came = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    await using listeners = await openListeners({
      addresses: [{ host: "127.0.0.1", port: 0 }],
      log: new QuietLog(),
      clock,
      async handle(request, { left }) {
        await request.arrayBuffer();
        left?.addEventListener("abort", () => gone.resolve());
        came.resolve();
        await gone.promise;
        return new Response(null, { status: 499 });
      },
    });
    const port = listeners.addresses[0]?.port ?? 0;
    const client = await Deno.connect({ hostname: "127.0.0.1", port });
    const body = "x".repeat(2_000);
    await client.write(
      new TextEncoder().encode(
        `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n`,
      ),
    );
    await client.write(new TextEncoder().encode(body));
    await came.promise;
    client.close();
    let noticed = false;
    gone.promise.then(() => noticed = true);
    // The kernel needs a moment to pass the close on; each look is a real one.
    for (let look = 0; look < 200 && !noticed; look++) await clock.advance(500);
    await gone.promise;
  },
});
