import assert from "node:assert/strict";
import { ADMISSION_PATH, STATUS_PATH } from "../../src/link/link_server.ts";
import { FakeLan, namesOf, SECRET, TestNode } from "../cluster_fixture.ts";
import { makeIdentity, nodeIdOf } from "../link/link_fixture.ts";
import { listenAs } from "./hostile_server.ts";
import { Stranger } from "./stranger.ts";

const REFUSED = '{"v":1,"step":"refused"}';
const UNPROVED = "A node failed to prove that it knows the secret";
const encoder = new TextEncoder();

function text(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

function countOf(node: TestNode, message: string): number {
  return node.log.lines.filter((line) => line.message === message).length;
}

/** A node that listens, and its port. */
async function startVictim(stack: AsyncDisposableStack) {
  const lan = new FakeLan();
  const node = new TestNode(1, lan);
  const cluster = stack.use(await node.cluster);
  await node.log.until("The member link is open");
  return { node, cluster, port: lan.portOf(nodeIdOf(1)) };
}

Deno.test("a stranger with a sound certificate and wrong secrets is refused and logged once", async () => {
  await using stack = new AsyncDisposableStack();
  const { cluster, node, port } = await startVictim(stack);
  using stranger = await Stranger.meet(await makeIdentity(7), port);
  for (const secret of ["a wrong secret 12345", "another wrong one 678"]) {
    const outcome = await stranger.admit(secret);
    assert.equal(outcome.kind, "failed");
    assert.equal((await stranger.ask(STATUS_PATH)).status, 403);
  }
  assert.equal(countOf(node, UNPROVED), 1);
  assert.deepEqual(namesOf(cluster.members()), ["node-1"]);
});

Deno.test("an admission that is replayed, by another or by its own key, admits nobody", async () => {
  await using stack = new AsyncDisposableStack();
  const { cluster, node, port } = await startVictim(stack);
  const honest = await makeIdentity(7);
  const sent: Uint8Array[] = [];
  {
    using joining = await Stranger.meet(honest, port);
    assert.equal((await joining.admit(SECRET, sent)).kind, "admitted");
  }
  assert.equal(sent.length, 3);
  for (const identity of [await makeIdentity(8), honest]) {
    using replaying = await Stranger.meet(identity, port);
    const [hello, ...rest] = sent;
    const greeted = await replaying.ask(ADMISSION_PATH, hello);
    const { run } = JSON.parse(text(greeted.bytes));
    for (const message of rest) {
      // As it was, and brought into the new run.
      const adapted = { ...JSON.parse(text(message)), run };
      for (const body of [encoder.encode(JSON.stringify(adapted)), message]) {
        const { bytes } = await replaying.ask(ADMISSION_PATH, body);
        assert.equal(text(bytes), REFUSED);
      }
    }
  }
  using other = await Stranger.meet(await makeIdentity(8), port);
  assert.equal((await other.ask(STATUS_PATH)).status, 403);
  assert.equal(cluster.members().length, 2);
  assert.ok(!node.log.lines.some(({ level }) => level === "error"));
});

Deno.test("a man in the middle of two honest nodes gets neither in, and reads no row", async () => {
  await using stack = new AsyncDisposableStack();
  const { cluster, node, port } = await startVictim(stack);
  const middle = await makeIdentity(66);
  const heard: Uint8Array[] = [];
  const towards = stack.use(await Stranger.meet(middle, port));
  const relay = stack.use(
    await listenAs(middle, {
      admission: {
        bodyLimitBytes: () => 2 ** 20,
        async receive(body) {
          const { bytes } = await towards.ask(ADMISSION_PATH, body);
          heard.push(body, bytes);
          return bytes;
        },
      },
    }),
  );
  const lured = new TestNode(2, new FakeLan(), {
    peers: [{ kind: "address", host: "127.0.0.1", port: relay.port }],
  });
  const other = stack.use(await lured.cluster);
  await lured.log.until("Admission was refused by a node nearby");
  assert.equal(countOf(node, UNPROVED), 1);
  assert.deepEqual(namesOf(cluster.members()), ["node-1"]);
  assert.deepEqual(namesOf(other.members()), ["node-2"]);
  assert.ok(heard.length >= 4);
  assert.doesNotMatch(heard.map(text).join(), /node-[12]|rows/);
});
