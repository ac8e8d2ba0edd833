import assert from "node:assert/strict";
import { makeIssuer } from "../licence/issuer.ts";
import { attemptFrom, nodeIdOf } from "../link/link_fixture.ts";
import { type LanHost, TestLan } from "./test_lan.ts";
import { silence, WholeNode } from "./whole_node.ts";

/** Time of the LAN's clock that what has no limit of its own may take. */
const AMPLE_MS = 10_000;

/** A test on the LAN in memory. */
function lanTest(name: string, fn: (lan: TestLan) => Promise<void>): void {
  Deno.test(name, async () => {
    await using lan = new TestLan();
    await fn(lan);
  });
}

/** Hosts 1 to `count`, with a licence for as many. */
async function addLicensed(lan: TestLan, count: number): Promise<LanHost[]> {
  const issuer = await makeIssuer();
  const licence = await issuer.issue({
    id: "L-1",
    holder: "Lab",
    maxClusterNodes: count,
    notAfter: null,
  });
  const hosts: LanHost[] = [];
  for (let n = 1; n <= count; n++) {
    const licenceKeys = [issuer.publicKey];
    hosts.push(await lan.add(n, { config: { licence }, licenceKeys }));
  }
  return hosts;
}

async function formed(lan: TestLan) {
  const a = await lan.add(1);
  const b = await lan.add(2);
  await lan.untilWhole(2000, a, b);
  return { a, b };
}

/** Let the doctor look, which takes longer than a record that was just heard. */
async function examined(lan: TestLan, { node }: LanHost): Promise<void> {
  const { signal } = new AbortController();
  const report = await lan.settle(
    node.cluster.act("doctor", {}, signal),
    AMPLE_MS,
  );
  assert.match(JSON.stringify(report), /"step":"status","verdict":"ok"/);
}

lanTest(
  "members whose addresses all change at once find each other again (MDN-06)",
  async (lan) => {
    const { a, b } = await formed(lan);
    for (const host of [a, b]) host.node.log.lines.length = 0;
    a.move();
    b.move();
    const isAt = (seen: LanHost, by: LanHost) => {
      const member = by.node.member(seen.n);
      return member?.health === "healthy" &&
        member.addresses[0]?.startsWith(seen.address) === true;
    };
    await lan.until("found", 6000, () => isAt(b, a) && isAt(a, b));
    // One current address, and not the old one beside it.
    assert.equal(a.node.member(2)?.addresses.length, 1);
    // Found anew by address, and not admitted anew.
    assert.ok(
      !a.node.log.lines.some(({ message }) => /member now/.test(message)),
    );
  },
);

lanTest(
  "a member that falls silent is gone within 6 s, and back within 3 s without admission",
  async (lan) => {
    const { a, b } = await formed(lan);
    a.node.log.lines.length = 0;
    b.cut();
    await lan.until(
      "gone",
      6000,
      () => a.node.member(2)?.health === "offline",
    );
    assert.equal(a.node.member(1)?.health, "healthy");
    b.mend();
    await lan.untilWhole(3000, a, b);
    assert.ok(
      !a.node.log.lines.some(({ message }) => /member now/.test(message)),
    );
  },
);

lanTest(
  "a member whose process ends is gone at once: its connections end and its port refuses",
  async (lan) => {
    const { a, b } = await formed(lan);
    // No goodbye is heard, as from a process that is killed.
    lan.lan.treat = () => ({ copies: 0, delayMs: 0 });
    const stopped = b.stop();
    await lan.until("gone", 300, () => a.node.member(2)?.health === "offline");
    await lan.settle(stopped, AMPLE_MS);
  },
);

lanTest("a goodbye that somebody forges is not believed", async (lan) => {
  const { a, b } = await formed(lan);
  await lan.clock.advance(3000);
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
  await examined(lan, a);
  assert.equal(a.node.member(2)?.health, "healthy");
  assert.equal(b.node.member(1)?.health, "healthy");
});

lanTest(
  "a forged record with a member's id and another place moves nobody (MDN-09)",
  async (lan) => {
    const { a, b } = await formed(lan);
    await lan.clock.advance(3000);
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
    await examined(lan, a);
    assert.equal(a.node.member(2)?.health, "healthy");
  },
);

lanTest(
  "two nodes that were apart become one cluster when the LAN is whole again",
  async (lan) => {
    lan.split(() => true);
    const a = await lan.add(1);
    const b = await lan.add(2);
    await lan.clock.advance(5000);
    assert.equal(a.node.cluster.members().length, 1);
    lan.split(null);
    await lan.untilWhole(AMPLE_MS, a, b);
  },
);

lanTest("8 nodes are one cluster within 2 s", async (lan) => {
  const hosts = await addLicensed(lan, 8);
  await lan.untilWhole(2000, ...hosts);
});

lanTest(
  "halves of 4 and 4 go on apart, and are one again when the LAN is whole",
  async (lan) => {
    const hosts = await addLicensed(lan, 8);
    await lan.untilWhole(2000, ...hosts);
    const isLeft = ({ n }: LanHost) => n <= 4;
    const [left, right] = [
      hosts.filter(isLeft),
      hosts.filter((host) => !isLeft(host)),
    ];
    lan.split((one, other) => isLeft(one) !== isLeft(other));
    const isWhole = (half: LanHost[]) =>
      half.every(({ node }) => node.sees(...half.map(({ n }) => n)));
    await lan.until("apart", 6000, () => isWhole(left) && isWhole(right));
    lan.split(null);
    await lan.untilWhole(6000, ...hosts);
  },
);

lanTest(
  "an attempt is answered by the other member, and a removal reaches it at once",
  async (lan) => {
    const { a, b } = await formed(lan);
    const { signal } = new AbortController();
    const [engine] = a.node.cluster.engines();
    const answered = async () => {
      const started = await engine?.start(attemptFrom(nodeIdOf(1)), signal);
      if (started?.kind !== "accepted") throw new Error("Not accepted");
      const { body } = await started.answer();
      return await new Response(body as BodyInit).text();
    };
    assert.equal(await lan.settle(answered(), 1000), "from 2");
    const removal = a.node.cluster.act("remove", { member: "node-2" }, signal);
    await lan.settle(removal, 1000);
    await lan.until(
      "told",
      100,
      () => b.node.cluster.members().length === 1,
    );
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
