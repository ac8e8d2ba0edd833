import assert from "node:assert/strict";
import { eventually } from "../../../scripts/lab/eventually.ts";
import { startAvahi } from "../../../scripts/lab/lan/avahi.ts";
import {
  areHealthy,
  LINK_PORT,
  makeFolder,
  membersBecome,
  startLanNode,
} from "../../../scripts/lab/lan/lan_node.ts";
import { lanTest } from "./lan_test_case.ts";
import { TestLan } from "../../../scripts/lab/lan/test_lan.ts";

const PROGRAMS = [
  "avahi-daemon",
  "avahi-browse",
  "avahi-publish",
  "dbus-daemon",
];
const FORMED_MS = 20_000;

lanTest(
  "MDN-08 Avahi sees and resolves both nodes, also on the host it shares with one",
  PROGRAMS,
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(3));
    const beside = stack.use(await startAvahi(lan.host(2)));
    const apart = stack.use(await startAvahi(lan.host(3)));
    const folder = await makeFolder(stack);
    const nodes = await Promise.all(
      [1, 2].map(async (number) =>
        stack.use(await startLanNode(lan.host(number), { folder }))
      ),
    );
    await membersBecome("the two meet", nodes, areHealthy(2), FORMED_MS);
    const members = await nodes[0]?.members() ?? [];
    for (const avahi of [beside, apart]) {
      await eventually("Avahi resolves both", async () => {
        const text = await avahi.run("avahi-browse", "-rpt", "_covey._tcp");
        const resolved = text.split("\n").filter((line) => line.startsWith("="))
          .map((line) => line.split(";"));
        const all = [1, 2].every((number) =>
          resolved.some((fields) =>
            fields[7] === lan.host(number).address.ipv4 &&
            fields[8] === String(LINK_PORT) &&
            members.some(({ id }) => fields[9]?.includes(`"id=${id}"`))
          )
        );
        return all ? true : undefined;
      });
    }
  },
);

lanTest(
  "Covey meets a node that Avahi alone publishes, and is not troubled by what is none",
  PROGRAMS,
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(3));
    const garbage = stack.use(await startAvahi(lan.host(3)));
    const service = ["_covey._tcp", String(LINK_PORT)];
    await garbage.publish(stack, "-s", "no id at all", ...service);
    await garbage.publish(stack, "-s", "no uuid", ...service, "v=1", "id=x");
    await garbage.publish(
      stack,
      ...["-s", "nobody listens", ...service, "v=1"],
      "id=00000000-0000-4000-8000-000000000001",
    );
    await garbage.publish(
      stack,
      ...["-s", "of another kind", ...service, "v=99"],
      `id=${"9".repeat(200)}`,
    );
    const publisher = stack.use(await startAvahi(lan.host(2)));
    const folder = await makeFolder(stack);
    const hearing = stack.use(await startLanNode(lan.host(1), { folder }));
    const silent = stack.use(
      // Discovery on loopback alone: nobody on the LAN hears of it.
      await startLanNode(lan.host(2), {
        folder,
        env: { COVEY_MDNS_INTERFACES: "lo" },
      }),
    );
    const id = (await silent.members()).find(({ self }) => self)?.id;
    assert.ok(id);
    await publisher.publish(
      stack,
      ...["-s", "a node", ...service, "v=1", `id=${id}`],
    );
    await membersBecome(
      "the two meet",
      [hearing, silent],
      areHealthy(2),
      FORMED_MS,
    );
    assert.doesNotMatch(hearing.process.log(), /"level":"error"/);
  },
);
