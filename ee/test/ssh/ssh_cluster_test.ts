import assert from "node:assert/strict";
import { createDenoProcesses } from "@covey/core/platform";
import { silence, WholeNode } from "../lan/whole_node.ts";
import { attemptFrom, nodeIdOf } from "../link/link_fixture.ts";
import { missingSsh, SshServer } from "./ssh_server.ts";

const MISSING = missingSsh();

/** A worker whose link is on loopback alone, and a node that reaches it over ssh. */
async function openPair(server: SshServer) {
  const worker = await WholeNode.open({ n: 1, discover: silence });
  const linkPort = await worker.linkPort();
  const entry = await WholeNode.open({
    n: 2,
    discover: silence,
    processes: createDenoProcesses([]),
    toolEnv: { PATH: server.path },
    config: {
      peers: [{
        kind: "ssh",
        user: server.user,
        host: "127.0.0.1",
        port: server.port,
        linkPort,
      }],
    },
  });
  return { worker, entry, linkPort };
}

async function answerOf(node: WholeNode, from: number): Promise<string> {
  const [engine] = node.cluster.engines();
  const started = await engine?.start(
    attemptFrom(nodeIdOf(from)),
    new AbortController().signal,
  );
  if (started?.kind !== "accepted") throw new Error("Not accepted");
  const { body } = await started.answer();
  return await new Response(body as BodyInit).text();
}

Deno.test({
  name: `two nodes form a cluster over ssh alone, and both can call (${
    MISSING ?? "sshd"
  })`,
  ignore: MISSING !== null,
  async fn() {
    await using server = await SshServer.open();
    const { entry, worker, linkPort } = await openPair(server);
    await using _worker = worker;
    await using _entry = entry;
    await Promise.all([entry.untilHealthy(1, 2), worker.untilHealthy(1, 2)]);
    assert.equal(await answerOf(entry, 2), "from 1");
    assert.equal(await answerOf(worker, 1), "from 2");
    assert.equal(entry.member(1)?.note, undefined);
    // Each is dialled at an end of the tunnel, and not at its own port.
    assert.notDeepEqual(entry.member(1)?.addresses, [`127.0.0.1:${linkPort}`]);
    assert.notDeepEqual(worker.member(2)?.addresses, [
      `127.0.0.1:${await entry.linkPort()}`,
    ]);
    // The ends go with the processes: they are not kept.
    const kept = (await entry.files.list("/state"))
      .filter(({ name }) => name.startsWith("members-"));
    const saved = (await Promise.all(
      kept.map(({ name }) => entry.files.readText(`/state/${name}`)),
    )).join("\n");
    assert.match(saved, /"addresses"/);
    for (const address of entry.member(1)?.addresses ?? []) {
      assert.ok(!saved.includes(`"port":${address.split(":")[1]}`), saved);
    }
  },
});

Deno.test({
  name:
    `a peer whose sshd allows no way back is a worker only, and listed so (${
      MISSING ?? "sshd"
    })`,
  ignore: MISSING !== null,
  async fn() {
    await using server = await SshServer.open(["-oAllowTcpForwarding=local"]);
    const { entry, worker } = await openPair(server);
    await using _worker = worker;
    await using _entry = entry;
    await entry.untilHealthy(1, 2);
    assert.equal(await answerOf(entry, 2), "from 1");
    assert.match(entry.member(1)?.note ?? "", /^worker only/);
    await worker.until((node) => node.member(2)?.note !== undefined);
    assert.match(worker.member(2)?.note ?? "", /one way/);
  },
});

Deno.test({
  name: `a tunnel that is refused says why in ssh's own words (${
    MISSING ?? "sshd"
  })`,
  ignore: MISSING !== null,
  async fn() {
    await using server = await SshServer.open(["-oPubkeyAuthentication=no"]);
    const { entry, worker } = await openPair(server);
    await using _worker = worker;
    await using _entry = entry;
    const isTold = ({ message, fields }: typeof entry.log.lines[number]) =>
      /tunnel over ssh is down/.test(message) &&
      /Permission denied/.test(String(fields?.["reason"]));
    await entry.until(({ log }) => log.lines.some(isTold));
  },
});
