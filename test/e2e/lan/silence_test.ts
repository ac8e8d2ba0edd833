import assert from "node:assert/strict";
import { heldSockets } from "../procfs.ts";
import { captureLan } from "../../../scripts/lab/lan/capture.ts";
import { makeFolder, startLanNode } from "../../../scripts/lab/lan/lan_node.ts";
import { lanTest } from "./lan_test_case.ts";
import { TestLan } from "../../../scripts/lab/lan/test_lan.ts";

const API_PORT = 11411;
const WATCHED_MS = 10_000;

lanTest(
  "a node without a secret opens no socket and sends no packet but the API's",
  ["tcpdump"],
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(2));
    const capture = stack.use(await captureLan(lan));
    const folder = await makeFolder(stack);
    const host = lan.host(1);
    const node = stack.use(
      await startLanNode(host, {
        folder,
        env: {
          COVEY_CLUSTER_SECRET: "",
          COVEY_HOST: host.address.ipv4,
          COVEY_ALLOW_ANONYMOUS: "1",
          COVEY_ALLOW_PLAINTEXT: "1",
          // Peers alone start nothing.
          COVEY_PEERS: `${lan.host(2).address.ipv4}:11412`,
        },
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, WATCHED_MS));
    const answer = await lan.host(2).fetch(
      `http://${host.address.ipv4}:${API_PORT}/healthz`,
    );
    assert.notEqual(answer, undefined);
    assert.deepEqual(await heldSockets(node.process.pid), {
      tcpListeners: [API_PORT],
      udp: [],
    });
    const groups = await host.run("cat", "/proc/net/igmp");
    assert.doesNotMatch(groups, /FB0000E0/);
    const { packets } = await capture.end();
    // What is left is the kernel's: neighbours, routers, group reports.
    const ours = packets.filter(({ protocol }) =>
      !["arp", "icmpv6", "igmp"].includes(protocol)
    );
    assert.ok(ours.length > 0);
    for (const { fromPort, protocol, toPort } of ours) {
      assert.equal(protocol, "tcp");
      assert.ok(fromPort === API_PORT || toPort === API_PORT);
    }
  },
);
