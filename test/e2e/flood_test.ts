import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { listMembers, membersSeen } from "../../scripts/lab/members.ts";
import {
  FROM_SOURCE,
  type NodeProcess,
  startNode,
} from "../../scripts/lab/node_process.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { residentBytes } from "./procfs.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";

const CONNECTIONS = 10_000;
const WAVE = 500;
const FLAT_BYTES = 20 * 2 ** 20;
const TURNED_AWAY = "Connections of strangers are turned away";

/** Open a connection and leave it: whoever opened it never closes it. */
function openAndLeave(port: number, stack: DisposableStack): Promise<void> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, "127.0.0.1");
    // Both ends of a refusal look alike from here, and both are all right.
    socket.on("error", () => {});
    socket.once("close", () => resolve());
    socket.once("connect", () => resolve());
    stack.defer(() => socket.destroy());
  });
}

Deno.test({
  name:
    "a cluster keeps serving, flat in memory, while 10,000 connections are opened and left",
  ignore: !HAS_CLUSTER || Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-hostile-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const secret = newSecret();
    const start = async (name: string): Promise<NodeProcess> =>
      stack.use(
        await startNode({
          name,
          dataDir: join(folder, name),
          command: [
            ...FROM_SOURCE.slice(0, -1),
            // Garbage is collected often, so that what is kept shows, and not
            // what only waits to be collected.
            "--v8-flags=--max-semi-space-size=1",
            ...FROM_SOURCE.slice(-1),
          ],
          env: {
            COVEY_CLUSTER_SECRET: secret,
            COVEY_LINK_HOST: "127.0.0.1",
            COVEY_LINK_PORT: "0",
            COVEY_MDNS_INTERFACES: "127.0.0.1",
            COVEY_PORT: "0",
          },
        }),
      );
    const victim = await start("victim");
    const other = await start("other");
    const urls = [victim.url, other.url];
    await membersSeen(urls, 2);
    const self = (await listMembers(victim.url)).find(({ self }) => self);
    const port = Number(/:(\d+)$/.exec(self?.addresses[0] ?? "")?.[1]);
    assert.ok(port > 0);

    async function flood(count: number): Promise<void> {
      for (let opened = 0; opened < count; opened += WAVE) {
        using sockets = new DisposableStack();
        await Promise.all(
          Array.from({ length: WAVE }, () => openAndLeave(port, sockets)),
        );
        const members = await listMembers(victim.url);
        assert.equal(members.length, 2);
      }
    }
    // Buffers and compiled code come with the first ones.
    await flood(CONNECTIONS / 4);
    const before = await residentBytes(victim.pid);
    await flood(CONNECTIONS);
    const grown = await residentBytes(victim.pid) - before;
    assert.ok(
      grown < FLAT_BYTES,
      `${Math.round(grown / 1024)} KiB more than before`,
    );
    // The two never lost each other.
    await membersSeen(urls, 2);
    for (const node of [victim, other]) {
      assert.doesNotMatch(node.log(), /OFFLINE|"to":"offline"|"level":"error"/);
    }
    const lines = victim.log().split("\n");
    const told = lines.filter((line) => line.includes(TURNED_AWAY));
    assert.equal(told.length, 1, victim.log());
  },
});
