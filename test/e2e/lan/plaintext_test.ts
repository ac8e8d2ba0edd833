import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { hkdfSync, scryptSync } from "node:crypto";
import { join } from "node:path";
import { writeCoveyTiny } from "../../../scripts/fixtures/covey_tiny.ts";
import { captureLan } from "../../../scripts/lab/lan/capture.ts";
import {
  areHealthy,
  LINK_PORT,
  makeFolder,
  membersBecome,
  SECRET,
  startLanNode,
} from "../../../scripts/lab/lan/lan_node.ts";
import { lanTest } from "./lan_test_case.ts";
import { multicastTexts } from "../../../scripts/lab/lan/multicast_text.ts";
import { type Captured, tcpStreams } from "../../../scripts/lab/lan/pcap.ts";
import { TestLan } from "../../../scripts/lab/lan/test_lan.ts";

const IDLE_MS = 20_000;
const PROMPT = "the heron counts its eggs at dusk";
const MODEL = "model-with-a-telling-name";
/** First byte of a TLS record: change of cipher, alert, handshake, data. */
const TLS_RECORDS = [0x14, 0x15, 0x16, 0x17];

const SIMULATED = {
  engines: [{
    kind: "simulated",
    id: "engine-with-a-telling-name",
    models: [{
      id: MODEL,
      capability: "chat",
      loadMs: 0,
      prefillTokensPerSecond: 4000,
      decodeTokensPerSecond: 200,
      batchSlowdown: 0.3,
      noise: 0,
      slots: 1,
      contextLength: 8192,
    }],
  }],
};

lanTest(
  "a listener on the LAN reads nothing but the mDNS record while a cluster forms, idles and chats",
  ["tcpdump"],
  async () => {
    await using stack = new AsyncDisposableStack();
    const lan = stack.use(await TestLan.open(2));
    const capture = stack.use(await captureLan(lan));
    const folder = await makeFolder(stack);
    const models = join(folder, "models");
    await writeCoveyTiny(models);
    const start = async (number: number, config: unknown) =>
      stack.use(
        await startLanNode(lan.host(number), {
          folder,
          config,
          env: { COVEY_MODELS_DIR: models, COVEY_ENGINE_THREADS: "1" },
        }),
      );
    const [entry, server] = [await start(1, {}), await start(2, SIMULATED)];
    const nodes = [entry, server];
    await membersBecome("the two meet", nodes, areHealthy(2), 20_000);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const answer = await lan.host(1).fetch(
      `${entry.process.url}/v1/chat/completions`,
      ...["-m", "10", "-H", "content-type: application/json", "-d"],
      JSON.stringify({
        model: MODEL,
        max_tokens: 16,
        // So often that some copy lies whole in one packet.
        messages: [{ role: "user", content: `${PROMPT}. `.repeat(100) }],
      }),
    );
    assert.match(answer ?? "", /"usage"/);
    const members = await entry.members();
    const captured = await capture.end();
    assertOnlyKnownTraffic(captured);
    assertRecordIsBare(captured, members.map(({ id }) => id));
    const clusterId = JSON.parse(
      await lan.host(1).fetch(`${entry.process.url}/cluster/members`) ?? "",
    ).cluster.id;
    const streams = [...tcpStreams(captured.packets).values()];
    for (const bytes of [captured.bytes, ...streams]) {
      assertHidden(bytes, [
        SECRET,
        PROMPT,
        MODEL,
        "engine-with-a-telling-name",
        "covey-tiny",
        "host-1",
        "host-2",
        clusterId,
        "/covey/1/",
        ...derivedFrom(SECRET),
      ]);
    }
  },
);

/** Neighbour discovery, groups, mDNS, and TLS at the link's port: nothing else passes. */
function assertOnlyKnownTraffic({ packets }: Captured): void {
  for (const { from, fromPort, protocol, to, toPort } of packets) {
    const said = `${protocol} ${from} ${fromPort} > ${to} ${toPort}`;
    switch (protocol) {
      case "arp":
      case "icmpv6":
      case "igmp":
        break;
      case "udp":
        assert.deepEqual([fromPort, toPort], [5353, 5353], said);
        break;
      case "tcp":
        assert.ok(fromPort === LINK_PORT || toPort === LINK_PORT, said);
        break;
      case "other":
        assert.fail(said);
        break;
      default:
        protocol satisfies never;
    }
  }
  const streams = tcpStreams(packets);
  assert.ok(streams.size >= 2);
  for (const [name, bytes] of streams) {
    for (let at = 0; at + 5 <= bytes.length;) {
      assert.ok(TLS_RECORDS.includes(bytes[at] ?? 0), `${name} at ${at}`);
      at += 5 + (((bytes[at + 3] ?? 0) << 8) | (bytes[at + 4] ?? 0));
    }
  }
}

/** Every text that was multicast is a random name, the service's, or `v` and `id`. */
function assertRecordIsBare(
  { packets }: Captured,
  ids: readonly string[],
): void {
  const allowed = [
    /^_(?:covey|tcp|udp|services|dns-sd)$/,
    /^local$/,
    /^[a-z2-7]{10}$/,
    /^[a-z2-7]{12}$/,
    /^v=1$/,
    new RegExp(`^id=(?:${ids.join("|")})$`),
  ];
  const labels = new Set(multicastTexts(packets));
  assert.ok(labels.has("_covey") && labels.has("v=1"));
  for (const label of labels) {
    assert.ok(allowed.some((form) => form.test(label)), label);
  }
}

function assertHidden(
  bytes: Uint8Array,
  secrets: readonly (string | Uint8Array)[],
): void {
  const held = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const needle of secrets) {
    const raw = typeof needle === "string"
      ? Buffer.from(needle)
      : Buffer.from(needle.toHex(), "hex");
    const forms = [
      raw,
      Buffer.from(raw.toString("hex")),
      // The inner part of its base64, wherever in a text it stands.
      ...[0, 1, 2].map((shift) =>
        Buffer.from(
          Buffer.concat([Buffer.alloc(shift), raw]).toString("base64")
            .slice(4, -4),
        )
      ),
    ];
    for (const form of forms) {
      if (form.length < 6) continue;
      assert.equal(
        held.indexOf(form),
        -1,
        `${raw.toString("latin1")} was seen`,
      );
    }
  }
}

/** What the secret becomes, derived here anew: the stretched key and the admission password. */
function derivedFrom(secret: string): readonly Uint8Array[] {
  const stretched = scryptSync(secret, "covey/1", 32, {
    N: 2 ** 15,
    r: 8,
    p: 1,
    maxmem: 2 ** 26,
  });
  const password = hkdfSync(
    "sha256",
    stretched,
    "",
    "covey/1 admission password",
    32,
  );
  return [stretched, new Uint8Array(password)];
}
