import assert from "node:assert/strict";
import {
  isJsonObject,
  type Offer,
  type QueueReport,
  UNKNOWN_MACHINE,
  type WorkReport,
} from "@covey/core/domain";
import { MemoryFiles } from "@covey/core/platform";
import { MemoryShelf, MODELS } from "../copy/memory_shelf.ts";
import { TestLan } from "./test_lan.ts";
// Loaded beforehand: that takes real time.
import "../../src/copy/copy_service.ts";

const FULL: QueueReport = {
  slots: 1,
  runningMs: [10_000],
  waitingMs: [10_000],
};
const IDLE: QueueReport = { slots: 1, runningMs: [], waitingMs: [] };
const MACHINE = {
  ...UNKNOWN_MACHINE,
  memoryTotalBytes: 32e9,
  memoryAvailableBytes: 20e9,
  diskTotalBytes: 500e9,
  diskFreeBytes: 200e9,
};

async function shelfWith(files: MemoryFiles): Promise<MemoryShelf> {
  const shelf = new MemoryShelf(files);
  await shelf.refresh();
  return shelf;
}

function offerOf(root: string, queue: QueueReport): Offer {
  return {
    model: "m",
    root,
    capabilities: ["chat"],
    features: [],
    contextLength: 2048,
    sizeBytes: 4,
    state: { kind: "warm", loadTimeMs: null },
    device: "cpu",
    queue,
    rates: {
      prefillTokensPerSecond: 100,
      decodeTokensPerSecond: 10,
      loadMs: 1000,
    },
  } as unknown as Offer;
}

for (const placeModels of [true, false]) {
  Deno.test(
    `a saturated node ${
      placeModels
        ? "has its model copied to an idle member, and says why"
        : "asks for no copy unless told to"
    }`,
    async () => {
      await using lan = new TestLan();
      // The idle member has the bytes already, but does not offer them: nothing moves.
      const bytes = new Uint8Array([1, 2, 3, 4]);
      const shelves = await Promise.all(
        [1, 2].map(() =>
          shelfWith(new MemoryFiles({ [`${MODELS}/m.gguf`]: bytes }))
        ),
      );
      const root = shelves[0]?.list()[0]?.root ?? "";
      const work = (queue: QueueReport | null): WorkReport => ({
        engines: [{
          id: "embedded",
          offers: queue === null ? [] : [offerOf(root, queue)],
        }],
        dispatchesSeen: {},
        machine: MACHINE,
      });
      const [busyShelf, idleShelf] = shelves;
      assert.ok(busyShelf !== undefined && idleShelf !== undefined);
      let queue = IDLE;
      const one = await lan.add(1, {
        models: busyShelf,
        work: () => work(queue),
        config: { placeModels },
      });
      const two = await lan.add(2, {
        models: idleShelf,
        work: () => work(null),
      });
      await lan.untilWhole(20_000, one, two);
      queue = FULL;
      const logged = () =>
        one.node.log.lines.filter(({ message }) =>
          message === "A model is copied to an idle member"
        );
      if (!placeModels) {
        await lan.clock.advance(5_000);
        assert.equal(logged().length, 0);
        assert.equal(one.node.cluster.copyHelp?.("m"), null);
        return;
      }
      await lan.clock.advance(10_000);
      const help = () => one.node.cluster.copyHelp?.("m");
      assert.equal(help()?.state, "watching");
      const tookMs = await lan.until(
        "a copy is asked for",
        90_000,
        () => logged().length > 0,
      );
      assert.ok(tookMs >= 45_000, `${tookMs}`);
      assert.match(String(logged()[0]?.fields["reason"]), /"node-2" is idle/);
      const reason = logged()[0]?.fields["reason"];
      assert.deepEqual(help(), { state: "asked", reason });
      const { events }: { events?: unknown } = Object(
        await lan.settle(
          one.node.cluster.act("audit", {}, new AbortController().signal),
          1000,
        ),
      );
      assert(Array.isArray(events));
      const [event] = events.filter((one) => one.event === "copy_asked");
      assert.equal(event?.name, "node-2");
      assert.equal(event?.reason, reason);
      assert.equal(
        one.node.metrics.counts.get(
          "covey_placement_copies_total{outcome=asked}",
        ),
        1,
      );
      // The next looks find a model that is still asked for too much.
      await lan.clock.advance(20_000);
      assert.deepEqual(help(), { state: "asked", reason });
      const answer = await lan.settle(
        one.node.cluster.act("copies", {}, new AbortController().signal),
        5_000,
      );
      const copies = isJsonObject(answer) ? answer.copies : [];
      assert.ok(Array.isArray(copies));
      assert.equal(copies.length, 1);
    },
  );
}
