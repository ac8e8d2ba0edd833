import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { captureLan } from "../../../scripts/lab/lan/capture.ts";
import {
  areHealthy,
  LINK_PORT,
  makeFolder,
  membersBecome,
  startLanNode,
} from "../../../scripts/lab/lan/lan_node.ts";
import { lanTest } from "./lan_test_case.ts";
import {
  multicastDns,
  multicastTexts,
} from "../../../scripts/lab/lan/multicast_text.ts";
import { TestLan } from "../../../scripts/lab/lan/test_lan.ts";

const FORMED_MS = 20_000;

lanTest(
  "MDN-01 a host's Docker bridge is told to nobody and makes no peer of oneself",
  ["tcpdump"],
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(2));
    for (const host of lan.hosts) await host.addDockerBridge();
    const capture = stack.use(await captureLan(lan));
    const folder = await makeFolder(stack);
    const nodes = await Promise.all(
      lan.hosts.map(async (host) =>
        stack.use(await startLanNode(host, { folder }))
      ),
    );
    await membersBecome("the two meet", nodes, areHealthy(2), FORMED_MS);
    for (const node of nodes) {
      for (const member of await node.members()) {
        assert.doesNotMatch(member.addresses.join(" "), /172\.17\./);
      }
    }
    const { packets } = await capture.end();
    const announced = multicastDns(packets);
    assert.ok(announced.length > 0);
    const bridge = Uint8Array.of(172, 17, 0, 1);
    for (const { payload } of announced) {
      assert.equal(Buffer.from(payload).indexOf(bridge), -1);
    }
    // Nor was it dialled: the other host has one, too.
    assert.ok(packets.every(({ to }) => !to.startsWith("172.")));
  },
);

lanTest(
  "MDN-03 a host with two interfaces on one LAN keeps its name, is quiet and no peer of its own",
  ["tcpdump"],
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(2));
    await lan.host(1).addInterface("10.77.0.51");
    const capture = stack.use(await captureLan(lan));
    const folder = await makeFolder(stack);
    const nodes = await Promise.all(
      lan.hosts.map(async (host) =>
        stack.use(await startLanNode(host, { folder }))
      ),
    );
    await membersBecome("the two meet", nodes, areHealthy(2), FORMED_MS);
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    await membersBecome("they still do", nodes, areHealthy(2), 500);
    const { packets } = await capture.end();
    const mdns = multicastDns(packets);
    const lastSeconds = packets.at(-1)?.atSeconds ?? 0;
    const late = mdns.filter(({ atSeconds }) => atSeconds > lastSeconds - 5);
    assert.ok(late.length <= 10, `${late.length} packets in the last 5 s`);
    // An instance's label has ten characters, and a host's has twelve.
    const names = new Set(
      multicastTexts(packets).filter((text) => /^[a-z2-7]{10}$/.test(text)),
    );
    assert.equal(names.size, 2, [...names].join(" "));
  },
);

lanTest(
  "MDN-09 nodes that hear no multicast meet by static peers, and again after a restart without them",
  ["nft"],
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(2));
    await lan.isolateMulticast();
    const folder = await makeFolder(stack);
    const first = stack.use(await startLanNode(lan.host(1), { folder }));
    const peers = `${lan.host(1).address.ipv4}:${LINK_PORT}`;
    {
      await using second = await startLanNode(lan.host(2), {
        folder,
        env: { COVEY_PEERS: peers },
      });
      await membersBecome(
        "the two meet",
        [first, second],
        areHealthy(2),
        FORMED_MS,
      );
    }
    const again = stack.use(await startLanNode(lan.host(2), { folder }));
    await membersBecome(
      "the two meet again at the address they remember",
      [first, again],
      areHealthy(2),
      FORMED_MS,
    );
  },
);

lanTest(
  "a LAN that loses a tenth of all packets has a whole cluster",
  ["nft"],
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(2));
    for (const host of lan.hosts) await host.lose(5);
    const folder = await makeFolder(stack);
    const nodes = await Promise.all(
      lan.hosts.map(async (host) =>
        stack.use(await startLanNode(host, { folder }))
      ),
    );
    await membersBecome("the two meet", nodes, areHealthy(2), 20_000);
  },
);

lanTest(
  "a LAN that is slow and uneven has a whole cluster",
  ["ethtool", "python3"],
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(2));
    // All that send to a delay line need whole frames too.
    await lan.host(1).run(
      ...["ethtool", "-K", "e0", "tx", "off", "tso", "off", "gso", "off"],
    );
    stack.use(await lan.host(2).delay(40, 5));
    const folder = await makeFolder(stack);
    const nodes = await Promise.all(
      lan.hosts.map(async (host) =>
        stack.use(await startLanNode(host, { folder }))
      ),
    );
    await membersBecome("the two meet", nodes, areHealthy(2), 20_000);
  },
);
