import assert from "node:assert/strict";
import {
  ADMISSION_PATH,
  CALL_BACK_PATH,
  STATUS_PATH,
} from "../../src/link/link_server.ts";
import { FakeLan, SECRET, TestNode } from "../cluster_fixture.ts";
import { makeIdentity, nodeIdOf } from "../link/link_fixture.ts";
import { listenAs } from "./hostile_server.ts";
import { Stranger } from "./stranger.ts";

const encoder = new TextEncoder();
/** Bodies that are no message: too deep, too long, cut off, noise, of wrong types. */
const BODIES: readonly Uint8Array[] = [
  new Uint8Array(),
  encoder.encode("["),
  encoder.encode("[".repeat(100_000)),
  encoder.encode('{"a":'.repeat(50_000)),
  encoder.encode('{"v":1,"step":"hello","kind":"secret"}'),
  encoder.encode(`{"v":1,"pad":"${"x".repeat(300_000)}"}`),
  encoder.encode('{"__proto__":{"v":1},"constructor":1}'),
  encoder.encode('"\\ud800"'),
  Uint8Array.of(0xff, 0xfe, 0x00, 0x7b),
  crypto.getRandomValues(new Uint8Array(4096)),
];

Deno.test("a node outlives every hostile body, from a stranger and from a member", async () => {
  await using stack = new AsyncDisposableStack();
  const lan = new FakeLan();
  const node = new TestNode(1, lan);
  stack.use(await node.cluster);
  await node.log.until("The member link is open");
  const port = lan.portOf(nodeIdOf(1));
  const identity = await makeIdentity(7);
  const paths = [
    ADMISSION_PATH,
    STATUS_PATH,
    CALL_BACK_PATH,
    "/covey/1/attempts/sim",
    `/covey/1/attempts/${"%00".repeat(100)}`,
    "/covey/1/attempts/%E0%A4%A",
  ];
  for (const isMember of [false, true]) {
    using hostile = await Stranger.meet(identity, port);
    if (isMember) {
      assert.equal((await hostile.admit(SECRET)).kind, "admitted");
    }
    for (const path of paths) {
      for (const body of BODIES) {
        const status = await hostile.ask(path, body).then(
          (answer) => answer.status,
          // The body was too long to be read: the connection is gone.
          () => 413,
        );
        assert.ok(
          path === ADMISSION_PATH && status === 200 || status >= 400 ||
            path === CALL_BACK_PATH,
          `${path}: ${status}`,
        );
      }
    }
    const { status } = await hostile.ask(STATUS_PATH, undefined, {
      "x-covey-link-port": "999999999999999999999",
      "x-covey-callback": "-1",
      "x-covey-rows": "z".repeat(4000),
    });
    assert.equal(status, isMember ? 200 : 403);
  }
  assert.deepEqual(
    node.log.lines.filter(({ level }) => level === "error"),
    [],
  );
});

Deno.test("a node outlives a member that answers every poll with what is no status", async () => {
  const answers: readonly Uint8Array[] = [
    ...BODIES.filter((_body, index) => index % 3 === 2),
    new Uint8Array(3 * 2 ** 20),
    encoder.encode(JSON.stringify({
      version: "1",
      bootId: "b",
      name: "n".repeat(10_000),
      linkPort: 1,
      draining: false,
      rows: Array.from({ length: 4000 }, (_, n) => ({ id: n, keyHash: n })),
      addresses: Array.from({ length: 10_000 }, () => ({})),
      work: { engines: [{}], dispatchesSeen: {} },
    })),
  ];
  await using stack = new AsyncDisposableStack();
  const lan = new FakeLan();
  const node = new TestNode(1, lan);
  const cluster = stack.use(await node.cluster);
  await node.log.until("The member link is open");
  const identity = await makeIdentity(7);
  const told = Promise.withResolvers<void>();
  let polls = 0;
  const server = stack.use(
    await listenAs(identity, {
      member: () => nodeIdOf(1),
      status() {
        const answer = answers[polls++ % answers.length];
        if (polls > answers.length) told.resolve();
        return answer ?? new Uint8Array();
      },
    }),
  );
  using hostile = await Stranger.meet(identity, lan.portOf(nodeIdOf(1)));
  const admitted = await hostile.admit(SECRET, [], server.port);
  assert.equal(admitted.kind, "admitted");
  // Over loopback it is a member's own poll that says where it is.
  await hostile.ask(STATUS_PATH, undefined, {
    "x-covey-link-port": String(server.port),
  });
  await told.promise;
  const seen = cluster.members().find(({ self }) => !self);
  assert.notEqual(seen?.health, "healthy");
  assert.equal(cluster.members().length, 2);
  const lines = node.log.lines.filter(({ level }) => level !== "debug");
  assert.ok(lines.length < 12, `${lines.length} lines for ${polls} polls`);
  assert.ok(lines.every(({ level }) => level !== "error"));
});
