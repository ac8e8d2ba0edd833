import assert from "node:assert/strict";
import {
  type Cluster,
  type Host,
  type MemberView,
  type Metrics,
  type NodeId,
  Secret,
  type WorkReport,
} from "@covey/core/domain";
import {
  createSeededEntropy,
  createSystemClock,
  createSystemEntropy,
  MemoryFiles,
  type Platform,
} from "@covey/core/platform";
import { QuietLog } from "../../test/fakes/quiet_log.ts";
import { createClusterOn } from "../src/cluster.ts";
import type { Sighting } from "../src/discovery/mod.ts";
import type { Discover } from "../src/running_cluster.ts";
import { attemptFrom, bodyOf, nodeIdOf } from "./link/link_fixture.ts";

const SECRET = "correct horse battery staple";
const noMetrics: Metrics = {
  counter: () => ({ add() {} }),
  gauge() {},
  histogram: () => ({ observe() {} }),
};
const WORK: WorkReport = {
  engines: [{ id: "sim", offers: [] }],
  dispatchesSeen: {},
};

/** A wire on which every node hears every other. */
class FakeLan {
  readonly #nodes = new Map<NodeId, {
    readonly port: number;
    onSighting(sighting: Sighting): void;
  }>();

  readonly discover: Discover = ({ onSighting, service }) => {
    const { nodeId, port } = service;
    for (const [otherId, other] of this.#nodes) {
      other.onSighting(seen(nodeId, port));
      onSighting(seen(otherId, other.port));
    }
    this.#nodes.set(nodeId, { port, onSighting });
    return Promise.resolve({
      state: () => [],
      interfaces: () => [],
      test: () => Promise.resolve([]),
      refresh() {},
      [Symbol.asyncDispose]: () => {
        this.#nodes.delete(nodeId);
        for (const other of this.#nodes.values()) {
          other.onSighting({
            kind: "goodbye",
            instance: nodeId,
            claimedId: nodeId,
          });
        }
        return Promise.resolve();
      },
    });
  };
}

function seen(nodeId: NodeId, port: number): Sighting {
  return {
    kind: "seen",
    instance: nodeId,
    claimedId: nodeId,
    addresses: ["127.0.0.1"],
    port,
    interfaceName: "lo",
  };
}

/** A node whose log lines can be waited for, instead of time. */
class TestNode {
  readonly log: WaitingLog;
  readonly files: MemoryFiles;
  readonly cluster: Promise<Cluster>;

  constructor(
    n: number,
    lan: FakeLan,
    settings: {
      readonly secret?: string;
      readonly previous?: string;
      readonly files?: MemoryFiles;
      readonly peers?: Host["config"]["peers"];
    } = {},
  ) {
    this.log = new WaitingLog();
    this.files = settings.files ?? new MemoryFiles();
    const platform: Platform = {
      clock: createSystemClock(),
      entropy: createSystemEntropy(),
      files: this.files,
      processes: {
        self: [],
        spawn() {
          throw new Error("Nothing is started here");
        },
      },
    };
    this.cluster = createClusterOn(
      {
        log: this.log,
        metrics: noMetrics,
        node: { id: nodeIdOf(n), name: `node-${n}`, version: "0.1.0" },
        config: {
          secret: new Secret(settings.secret ?? SECRET),
          previousSecret: settings.previous === undefined
            ? null
            : new Secret(settings.previous),
          linkHost: "127.0.0.1",
          linkPort: 0,
          advertise: [],
          peers: settings.peers ?? [],
          mdnsInterfaces: null,
          licence: null,
        },
        stateDir: "/state",
        router: {
          report: () => WORK,
          serve: () =>
            Promise.resolve({
              kind: "accepted",
              queue: { slots: 1, runningMs: [], waitingMs: [] },
              answer: () =>
                Promise.resolve({
                  status: 200,
                  contentType: "text/plain",
                  retryAfter: null,
                  body: bodyOf([new TextEncoder().encode(`from ${n}`)]),
                }),
            }),
        },
      },
      platform,
      lan.discover,
    );
  }
}

/** Resolves waits by the lines that are logged. */
class WaitingLog extends QuietLog {
  readonly #waits: { readonly text: string; readonly done: () => void }[] = [];

  async until(text: string): Promise<void> {
    if (this.lines.some(({ message }) => message.includes(text))) return;
    await new Promise<void>((done) => this.#waits.push({ text, done }));
  }

  override debug(message: string, fields = {}): void {
    super.debug(message, fields);
    this.#tell(message);
  }

  override info(message: string, fields = {}): void {
    super.info(message, fields);
    this.#tell(message);
  }

  override warn(message: string, fields = {}): void {
    super.warn(message, fields);
    this.#tell(message);
  }

  override error(message: string, fields = {}): void {
    super.error(message, fields);
    this.#tell(message);
  }

  #tell(message: string): void {
    for (const { done, text } of this.#waits) {
      if (message.includes(text)) done();
    }
  }
}

function namesOf(members: readonly MemberView[]): string[] {
  return members.map(({ name }) => name).sort();
}

Deno.test("two clusters of one secret become one, do each other's work and part in good order", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const two = new TestNode(2, lan);
  await using first = await one.cluster;
  {
    await using second = await two.cluster;
    await Promise.all([
      one.log.until("A member is healthy"),
      two.log.until("A member is healthy"),
    ]);
    for (const cluster of [first, second]) {
      assert.deepEqual(namesOf(cluster.members()), ["node-1", "node-2"]);
      assert.ok(cluster.members().every(({ health }) => health === "healthy"));
    }
    assert.equal(first.id(), second.id());
    const [engine] = first.engines();
    assert.equal(engine?.node, nodeIdOf(2));
    assert.equal(engine?.view().availability.kind, "available");
    const started = await engine?.start(
      attemptFrom(nodeIdOf(1)),
      new AbortController().signal,
    );
    if (started?.kind !== "accepted") throw new Error("Not accepted");
    const { body } = await started.answer();
    assert.equal(await new Response(body as BodyInit).text(), "from 2");
  }
  // The goodbye leads to a poll, and that to a refused dial.
  await one.log.until("A member's health changed");
  assert.equal(first.engines()[0]?.view().availability.kind, "unavailable");
});

Deno.test("a cluster of another secret is never joined, by either side", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const two = new TestNode(2, lan, { secret: "quite another secret 123" });
  await using first = await one.cluster;
  await using second = await two.cluster;
  await Promise.all([
    one.log.until("Admission was refused by a node nearby"),
    two.log.until("Admission was refused by a node nearby"),
  ]);
  assert.deepEqual(namesOf(first.members()), ["node-1"]);
  assert.deepEqual(namesOf(second.members()), ["node-2"]);
  assert.deepEqual(first.engines(), []);
});

Deno.test("a third node without a licence is refused with the reason on both sides", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  await using first = await one.cluster;
  const two = new TestNode(2, lan);
  await using _second = await two.cluster;
  await one.log.until("A member is healthy");
  const three = new TestNode(3, lan);
  await using third = await three.cluster;
  await Promise.race([
    one.log.until("A node was not admitted"),
    two.log.until("A node was not admitted"),
    three.log.until("A node was not admitted"),
  ]);
  await Promise.race([
    one.log.until("This node was refused"),
    two.log.until("This node was refused"),
    three.log.until("This node was refused"),
  ]);
  assert.deepEqual(namesOf(first.members()), ["node-1", "node-2"]);
  assert.deepEqual(namesOf(third.members()), ["node-3"]);
});

Deno.test("a member comes back after a restart without admission, at another port", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan);
  const before = new TestNode(2, lan);
  await using first = await one.cluster;
  {
    await using _second = await before.cluster;
    await Promise.all([
      one.log.until("A member is healthy"),
      before.log.until("A member is healthy"),
    ]);
  }
  await one.log.until("A member's health changed");
  one.log.lines.length = 0;
  const after = new TestNode(2, lan, { files: before.files });
  await using second = await after.cluster;
  await Promise.all([
    one.log.until("A member is healthy"),
    after.log.until("A member is healthy"),
  ]);
  assert.ok(!after.log.lines.some(({ message }) => /member now/.test(message)));
  assert.deepEqual(namesOf(second.members()), namesOf(first.members()));
});

Deno.test("a node with a rotated secret keeps its members, and both secrets admit", async () => {
  const lan = new FakeLan();
  const one = new TestNode(1, lan, { secret: "the older secret 123" });
  const two = new TestNode(2, lan, {
    secret: SECRET,
    previous: "the older secret 123",
  });
  await using first = await one.cluster;
  await using _second = await two.cluster;
  await Promise.all([
    one.log.until("A member is healthy"),
    two.log.until("A member is healthy"),
  ]);
  assert.deepEqual(namesOf(first.members()), ["node-1", "node-2"]);
});

Deno.test("a port in use is one line that names COVEY_LINK_PORT, and the node lives on alone", async () => {
  using holder = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const log = new WaitingLog();
  const { port } = holder.addr as Deno.NetAddr;
  const platform = {
    clock: createSystemClock(),
    entropy: createSeededEntropy(1),
    files: new MemoryFiles(),
    processes: {
      self: [],
      spawn: () => {
        throw new Error("None");
      },
    },
  };
  await using cluster = await createClusterOn(
    {
      log,
      metrics: noMetrics,
      node: { id: nodeIdOf(1), name: "node-1", version: "0.1.0" },
      config: {
        secret: new Secret(SECRET),
        previousSecret: null,
        linkHost: "127.0.0.1",
        linkPort: port,
        advertise: [],
        peers: [],
        mdnsInterfaces: null,
        licence: null,
      },
      stateDir: "/state",
      router: {
        report: () => WORK,
        serve: () => Promise.reject(new Error("Not expected")),
      },
    },
    platform,
    new FakeLan().discover,
  );
  await log.until("COVEY_LINK_PORT");
  assert.match(
    log.lines.at(-1)?.message ?? "",
    new RegExp(`127\\.0\\.0\\.1:${port}.*in use`),
  );
  assert.deepEqual(namesOf(cluster.members()), ["node-1"]);
  assert.equal(cluster.id(), null);
});
