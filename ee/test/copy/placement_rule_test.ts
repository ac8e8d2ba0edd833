import assert from "node:assert/strict";
import { type QueueReport, UNKNOWN_MACHINE } from "@covey/core/domain";
import {
  COOL_DOWN_MS,
  decidePlacement,
  NO_PLACEMENT,
  type PlacedMember,
  type PlacementFacts,
  type PlacementMemory,
  WINDOW_MS,
} from "../../src/copy/placement_rule.ts";
import { nodeIdOf } from "../link/link_fixture.ts";

const ROOT = "ab".repeat(32);
const IDLE: QueueReport = { slots: 2, runningMs: [], waitingMs: [] };
const FULL: QueueReport = {
  slots: 2,
  runningMs: [5_000, 5_000],
  waitingMs: [5_000, 5_000, 5_000],
};
const MACHINE = {
  ...UNKNOWN_MACHINE,
  memoryTotalBytes: 32e9,
  memoryAvailableBytes: 20e9,
  diskTotalBytes: 500e9,
  diskFreeBytes: 200e9,
};

function holder(n: number, queue: QueueReport): PlacedMember {
  return {
    node: nodeIdOf(n),
    name: `node-${n}`,
    isTaking: true,
    runsModels: true,
    models: [{ model: "m", root: ROOT, sizeBytes: 10e9, isWarm: true, queue }],
    queues: [queue],
    machine: MACHINE,
  };
}

function idle(n: number, more: Partial<PlacedMember> = {}): PlacedMember {
  return { ...holder(n, IDLE), models: [], ...more };
}

/** Look twice, a window apart. */
function decide(
  self: PlacedMember,
  peers: readonly PlacedMember[],
  more: Partial<PlacementFacts> = {},
  memory: PlacementMemory = NO_PLACEMENT,
) {
  const facts = { nowMs: 0, self, peers, isCopying: false, ...more };
  const first = decidePlacement(memory, facts);
  assert.equal(first.ask, null, "one look is no window");
  return decidePlacement(first.memory, {
    ...facts,
    nowMs: facts.nowMs + WINDOW_MS,
  });
}

Deno.test("decidePlacement copies a model to the idle member with most memory once its holder was saturated for a window", () => {
  const roomy = { ...MACHINE, memoryAvailableBytes: 30e9 };
  const { ask } = decide(holder(1, FULL), [
    idle(2),
    idle(3, { machine: roomy }),
  ]);
  assert.deepEqual([ask?.to, ask?.root], [nodeIdOf(3), ROOT]);
  assert.match(
    `${ask?.reason}`,
    /"node-1" has had requests wait 13 s and more for 60 s, and "node-3" is idle/,
  );
});

Deno.test("decidePlacement counts memory of cards that a member computes on", () => {
  const small = {
    ...MACHINE,
    memoryTotalBytes: 8e9,
    memoryAvailableBytes: 6e9,
  };
  const carded = {
    ...small,
    cardMemoryTotalBytes: 24e9,
    cardMemoryFreeBytes: 23e9,
  };
  const to = (...peers: readonly PlacedMember[]) =>
    decide(holder(1, FULL), peers).ask?.to;
  assert.equal(to(idle(2, { machine: small })), undefined);
  assert.equal(
    to(
      idle(2, { machine: { ...MACHINE, memoryAvailableBytes: 25e9 } }),
      idle(3, { machine: carded }),
    ),
    nodeIdOf(3),
  );
});

Deno.test("decidePlacement leaves members alone that hold the model, work, lack room, or are not known well enough", () => {
  const full = { ...MACHINE, diskFreeBytes: 25e9 };
  const small = { ...MACHINE, memoryTotalBytes: 12e9 };
  for (
    const [what, peer] of [
      ["works", idle(2, { queues: [{ ...IDLE, runningMs: [1] }] })],
      ["is draining", idle(2, { isTaking: false })],
      ["runs no folder", idle(2, { runsModels: false })],
      ["has a full disk", idle(2, { machine: full })],
      ["has little memory", idle(2, { machine: small })],
      ["is unknown", idle(2, { machine: UNKNOWN_MACHINE })],
      ["has no sensors", idle(2, { machine: null })],
      ["holds it idle", holder(2, IDLE)],
    ] as const
  ) {
    const { ask } = decide(holder(1, FULL), [peer]);
    assert.equal(ask, null, what);
  }
});

Deno.test("decidePlacement asks once: of several saturated holders the smallest id, one copy at a time, and then rests", () => {
  const both = [holder(2, FULL), idle(3)];
  assert.notEqual(decide(holder(1, FULL), both).ask, null);
  const other = [holder(1, FULL), idle(3)];
  assert.equal(decide(holder(2, FULL), other).ask, null);
  assert.equal(decide(holder(1, FULL), both, { isCopying: true }).ask, null);
  const { memory } = decide(holder(1, FULL), both);
  const soon = decide(holder(1, FULL), both, { nowMs: 2 * WINDOW_MS }, memory);
  assert.equal(soon.ask, null);
  const later = decide(
    holder(1, FULL),
    both,
    { nowMs: WINDOW_MS + COOL_DOWN_MS },
    memory,
  );
  assert.notEqual(later.ask, null);
});

Deno.test("decidePlacement says of a model that too many ask for what it does about it, and why nobody can help", () => {
  const look = (
    peers: readonly PlacedMember[],
    nowMs: number,
    memory: PlacementMemory,
    isCopying = false,
  ) =>
    decidePlacement(memory, {
      nowMs,
      self: holder(1, FULL),
      peers,
      isCopying,
    });
  const peers = [idle(2)];
  const first = look(peers, 0, NO_PLACEMENT);
  assert.deepEqual(first.help.get(ROOT)?.state, "watching");
  const soon = look(peers, 30_000, first.memory);
  assert.match(`${soon.help.get(ROOT)?.reason}`, /10 s and more for 30 s;/);
  const copying = look(peers, WINDOW_MS, soon.memory, true);
  assert.equal(copying.help.get(ROOT)?.state, "copying");
  const asked = look(peers, WINDOW_MS, soon.memory);
  assert.deepEqual(asked.help.get(ROOT), {
    state: "asked",
    reason: asked.ask?.reason,
  });
  const resting = look(peers, WINDOW_MS + 5000, asked.memory);
  assert.deepEqual(resting.help.get(ROOT), {
    state: "resting",
    reason: "A copy was asked for; no other is for 15 min",
  });
  const alone = look([], WINDOW_MS, soon.memory);
  assert.deepEqual(alone.help.get(ROOT), {
    state: "nowhere",
    reason: "No member can take a copy: there is no other",
  });
  const none = look(
    [
      holder(9, FULL),
      idle(2, { machine: { ...MACHINE, memoryTotalBytes: 12e9 } }),
      idle(3, { machine: { ...MACHINE, diskFreeBytes: 25e9 } }),
      idle(4, { queues: [FULL] }),
      idle(5, { machine: null }),
      ...[6, 7, 8, 10].map((n) => idle(n, { isTaking: false })),
    ],
    WINDOW_MS,
    soon.memory,
  );
  assert.equal(
    none.help.get(ROOT)?.reason,
    'No member can take a copy: "node-9" has it, ' +
      '"node-2" has too little memory, ' +
      '"node-3" has too little room on its disk, "node-4" is at work, ' +
      '"node-5" does not tell its memory and disk, ' +
      '"node-6" takes no work, "node-7" takes no work, ' +
      '"node-8" takes no work, and 1 more',
  );
  const quiet = decidePlacement(NO_PLACEMENT, {
    nowMs: 0,
    self: holder(1, IDLE),
    peers,
    isCopying: false,
  });
  assert.equal(quiet.help.size, 0);
});

Deno.test("decidePlacement counts a window anew after a moment without a queue", () => {
  const peers = [idle(2)];
  const look = (memory: PlacementMemory, nowMs: number, queue: QueueReport) =>
    decidePlacement(memory, {
      nowMs,
      self: holder(1, queue),
      peers,
      isCopying: false,
    });
  const one = look(NO_PLACEMENT, 0, FULL);
  const two = look(one.memory, WINDOW_MS - 5_000, IDLE);
  const three = look(two.memory, WINDOW_MS, FULL);
  assert.equal(three.ask, null);
  assert.equal(look(three.memory, 2 * WINDOW_MS - 1, FULL).ask, null);
  assert.notEqual(look(three.memory, 2 * WINDOW_MS, FULL).ask, null);
});
