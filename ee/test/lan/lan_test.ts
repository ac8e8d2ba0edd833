import assert from "node:assert/strict";
import { nodeIdOf } from "../link/link_fixture.ts";
import { HAS_HOSTS, type LanHost, TestLan } from "./test_lan.ts";
import { silence, WholeNode } from "./whole_node.ts";

/** A test on the LAN in this process. */
function lanTest(name: string, fn: (lan: TestLan) => Promise<void>): void {
  Deno.test({
    name: HAS_HOSTS ? name : `${name} (skipped: needs all of 127.0.0.0/8)`,
    ignore: !HAS_HOSTS,
    async fn() {
      await using lan = new TestLan();
      await fn(lan);
    },
  });
}

async function formed(lan: TestLan) {
  const a = await lan.add(1);
  const b = await lan.add(2);
  await Promise.all([
    a.node.untilHealthy(1, 2),
    b.node.untilHealthy(1, 2),
  ]);
  return { a, b };
}

/** Let the doctor look, which takes longer than a record that was just heard. */
async function examined({ node }: LanHost): Promise<void> {
  const { signal } = new AbortController();
  const report = await node.cluster.act("doctor", {}, signal);
  assert.match(JSON.stringify(report), /"step":"status","verdict":"ok"/);
}

lanTest(
  "members whose addresses all change at once find each other again (MDN-06)",
  async (lan) => {
    const { a, b } = await formed(lan);
    const before = b.address;
    for (const host of [a, b]) host.node.log.lines.length = 0;
    a.move();
    b.move();
    const hasMoved = (text: string) => (node: typeof a.node) =>
      node.member(text === "a" ? 1 : 2)?.addresses[0]?.startsWith(
        text === "a" ? a.address : b.address,
      ) === true;
    await Promise.all([
      a.node.until(hasMoved("b")),
      b.node.until(hasMoved("a")),
    ]);
    await Promise.all([a.node.untilHealthy(1, 2), b.node.untilHealthy(1, 2)]);
    // One current address, and not the old one beside it.
    const shown = a.node.member(2)?.addresses ?? [];
    assert.equal(shown.length, 1, shown.join(" "));
    assert.ok(!shown[0]?.startsWith(before));
    // Found anew by address, and not admitted anew.
    assert.ok(
      !a.node.log.lines.some(({ message }) => /member now/.test(message)),
    );
  },
);

lanTest(
  "a member that falls silent is taken for gone, and comes back without admission",
  async (lan) => {
    const { a, b } = await formed(lan);
    b.cut();
    await a.node.until((node) => node.member(2)?.health === "offline");
    b.mend();
    await a.node.untilHealthy(1, 2);
    await b.node.untilHealthy(1, 2);
  },
);

lanTest("a goodbye that somebody forges is not believed", async (lan) => {
  const { a, b } = await formed(lan);
  const announced = lan.lan.sent.findLast(({ from, message }) =>
    from === b.address && message.kind === "response"
  );
  assert.ok(announced);
  const message = {
    ...announced.message,
    answers: announced.message.answers.map((one) => ({
      ...one,
      ttlSeconds: 0,
    })),
  };
  lan.lan.inject(message, { address: b.address, port: 5353 });
  await examined(a);
  assert.equal(a.node.member(2)?.health, "healthy");
  assert.equal(b.node.member(1)?.health, "healthy");
});

lanTest(
  "a forged record with a member's id and another place moves nobody (MDN-09)",
  async (lan) => {
    const { a, b } = await formed(lan);
    const announced = lan.lan.sent.findLast(({ from, message }) =>
      from === b.address && message.kind === "response"
    );
    assert.ok(announced);
    const forged = (port: number) => ({
      ...announced.message,
      answers: announced.message.answers.map((one) => {
        const flushed = { ...one, flush: true };
        return flushed.type === "SRV"
          ? { ...flushed, port }
          : flushed.type === "TXT"
          ? {
            ...flushed,
            entries: ["v=9", `id=${nodeIdOf(2)}`, "cluster=another"],
          }
          : flushed;
      }),
    });
    lan.lan.inject(forged(9), { address: b.address, port: 5353 });
    await examined(a);
    assert.equal(a.node.member(2)?.health, "healthy");
  },
);

lanTest(
  "two halves that were apart become one cluster when the LAN is whole again",
  async (lan) => {
    lan.split(() => true);
    const a = await lan.add(1);
    const b = await lan.add(2);
    await Promise.all([a.node.linkPort(), b.node.linkPort()]);
    assert.equal(a.node.cluster.members().length, 1);
    lan.split(null);
    await Promise.all([a.node.untilHealthy(1, 2), b.node.untilHealthy(1, 2)]);
  },
);

Deno.test("a member named by address needs no multicast, and its address is kept over a restart (MDN-09)", async () => {
  await using a = await WholeNode.open({ n: 1, discover: silence });
  const peer = {
    kind: "address",
    host: "127.0.0.1",
    port: await a.linkPort(),
  } as const;
  const b = await WholeNode.open({
    n: 2,
    discover: silence,
    config: { peers: [peer] },
  });
  {
    await using _b = b;
    await Promise.all([a.untilHealthy(1, 2), b.untilHealthy(1, 2)]);
  }
  await a.until((node) => node.member(2)?.health === "offline");
  await using again = await WholeNode.open({
    n: 2,
    discover: silence,
    files: b.files,
  });
  await Promise.all([a.untilHealthy(1, 2), again.untilHealthy(1, 2)]);
});
