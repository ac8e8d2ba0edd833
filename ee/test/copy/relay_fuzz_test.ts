import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { NodeId } from "@covey/core/domain";
import { createSeededEntropy, createSystemClock } from "@covey/core/platform";
import fc from "fast-check";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { ArrivalLog } from "../../src/copy/arrival_log.ts";
import {
  type ArrivalPage,
  encodePage,
  parsePage,
} from "../../src/copy/arrival_page.ts";
import { ArrivalReader } from "../../src/copy/arrival_reader.ts";
import { NotHeldError } from "../../src/copy/copy_error.ts";
import { type ChunkSource, sha256 } from "../../src/copy/gather.ts";
import type { PullMember } from "../../src/copy/pull_follower.ts";
import {
  type FinishedModel,
  type Follower,
  PullRelay,
} from "../../src/copy/pull_relay.ts";
import { WireError } from "../../src/link/wire_error.ts";
import { MemoryParts } from "./memory_parts.ts";

const RUNS = Number(Deno.env.get("COVEY_FUZZ") ?? 120);
const SIZE = 16;
const LEADER = "1" as NodeId;
const OTHER = "2" as NodeId;

/** How a piece, or a page of the list of pieces, is spoiled. */
const fault = fc.record({
  kind: fc.constantFrom("flip", "short", "missing", "other", "broken"),
  at: fc.nat(2_000),
  bit: fc.nat(7),
});
const pageFault = fc.record({
  kind: fc.constantFrom("flip", "missing", "repeated", "reordered", "cut"),
  at: fc.nat(2_000),
  bit: fc.nat(7),
});
type Fault = typeof fault extends fc.Arbitrary<infer One> ? One : never;
type PageFault = typeof pageFault extends fc.Arbitrary<infer One> ? One : never;

/** Waits are over at the next turn of the event loop. */
const quickClock = {
  ...createSystemClock(),
  sleep: async (_ms: number, signal?: AbortSignal) => {
    await setImmediate();
    signal?.throwIfAborted();
  },
};

function flip(bytes: Uint8Array, { at, bit }: { at: number; bit: number }) {
  const place = at % Math.max(1, bytes.length);
  bytes[place] = (bytes[place] ?? 0) ^ 1 << bit;
}

/** A page as it would come over a bad link, or from a member that lies. */
function spoilPage(page: ArrivalPage, spoil: PageFault): Uint8Array {
  const arrivals = [...page.arrivals];
  const at = spoil.at % Math.max(1, arrivals.length);
  const one = arrivals[at];
  if (spoil.kind === "missing") arrivals.splice(at, 1);
  if (spoil.kind === "repeated" && one !== undefined) {
    arrivals.splice(at, 0, one);
  }
  if (spoil.kind === "reordered") arrivals.reverse();
  const bytes = encodePage({ ...page, arrivals });
  if (spoil.kind === "flip") flip(bytes, spoil);
  return spoil.kind === "cut" ? bytes.slice(0, -1 - at) : bytes;
}

/** A member whose bytes and lists go wrong as they were told, and then right. */
class FaultyMember implements Follower {
  readonly name: string;
  readonly reader: ArrivalReader;
  readonly #log: ArrivalLog;
  readonly #parts: MemoryParts;
  readonly #pages: PageFault[];
  readonly #faults: Fault[];
  looks = 0;

  constructor(
    name: string,
    parts: MemoryParts,
    pages: readonly PageFault[],
    faults: readonly Fault[],
  ) {
    this.name = name;
    this.reader = new ArrivalReader(parts);
    this.#parts = parts;
    this.#pages = [...pages];
    this.#faults = [...faults];
    let lists = 0;
    this.#log = new ArrivalLog({
      parts,
      log: new QuietLog(),
      name: () =>
        sha256(new TextEncoder().encode(`${name} ${lists++}`))
          .slice(0, 32),
      pace: () => Promise.resolve({ [Symbol.dispose]() {} }),
    });
  }

  get isPulling(): boolean {
    return this.reader.run !== null;
  }

  async look(): Promise<void> {
    this.looks++;
    const { count, run } = this.reader;
    const page = await this.#log.page(run, count);
    const spoil = page.arrivals.length > 0 ? this.#pages.shift() : undefined;
    try {
      this.reader.take(
        parsePage(
          spoil === undefined ? encodePage(page) : spoilPage(page, spoil),
        ),
      );
    } catch (error) {
      assert.ok(error instanceof WireError, String(error));
      this.reader.reset();
    }
  }

  source(
    known: { has(index: number): boolean },
    gathers: boolean,
  ): ChunkSource {
    return {
      name: this.name,
      gatherer: gathers ? sha256(new TextEncoder().encode(this.name)) : null,
      has: ({ index }) => known.has(index),
      fetch: async ({ file, position }, into) => {
        await setImmediate();
        const spoil = this.#faults.shift();
        const from = spoil?.kind === "other"
          ? (file + spoil.at) % this.#parts.sizes.length
          : file;
        const bytes = await this.#parts.read({ file: from, position });
        if (bytes === null || spoil?.kind === "missing") {
          throw new NotHeldError("Gone");
        }
        if (spoil?.kind === "broken") throw new Error("It broke");
        if (spoil?.kind === "flip") flip(bytes, spoil);
        into.set(bytes);
        return spoil?.kind === "short" ? bytes.length - 1 : bytes.length;
      },
    };
  }

  [Symbol.dispose](): void {
    this.#log[Symbol.dispose]();
  }
}

/** The finished model, from a member that has it right. */
function finished(whole: readonly Uint8Array<ArrayBuffer>[]): FinishedModel {
  return {
    id: "root",
    files: whole.length,
    digestOf: (file) => sha256(whole[file] ?? new Uint8Array()),
    sources: [{
      name: "good",
      has: () => true,
      async fetch({ file }, into) {
        await setImmediate();
        into.set(whole[file] ?? new Uint8Array());
        return SIZE;
      },
      [Symbol.dispose]() {},
    }],
  };
}

Deno.test("a relayed pull has at last what the finished model says and nothing else, whatever is flipped, missing, repeated or reordered in pieces and lists before", async () => {
  let early = 0;
  let mended = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.nat(1_000_000),
      fc.integer({ min: 1, max: 10 }),
      fc.array(pageFault, { maxLength: 4 }),
      fc.array(fault, { maxLength: 8 }),
      fc.array(fc.nat(9), { maxLength: 2 }),
      async (seed, count, pages, faults, spoiled) => {
        const entropy = createSeededEntropy(seed);
        const whole = Array.from({ length: count }, () => entropy.bytes(SIZE));
        const sizes = whole.map(({ length }) => length);
        const fetching = new MemoryParts(sizes);
        const waiting = new MemoryParts(sizes);
        const own = new MemoryParts(sizes);
        const leader = new FaultyMember("leader", fetching, pages, faults);
        const other = new FaultyMember("other", waiting, pages, faults);
        const relay = new PullRelay({
          parts: own,
          model: "m",
          self: "ab".repeat(32),
          clock: quickClock,
          log: new QuietLog(),
          members: () =>
            [LEADER, OTHER].map((node) => ({ node }) as PullMember),
          follower: ({ node }) => node === LEADER ? leader : other,
          draw: () => entropy.float(),
          pace: () => Promise.resolve({ [Symbol.dispose]() {} }),
        });
        relay.follow(LEADER);
        // What the source gave is not right everywhere.
        const given = whole.map((bytes) => bytes.slice());
        for (const file of spoiled) given[file % count]?.fill(0);
        for (const [file, bytes] of given.entries()) {
          await fetching.write({ file, position: 0 }, bytes);
          if (file % 2 === 0) await waiting.write({ file, position: 0 }, bytes);
          await setImmediate();
        }
        const enough = leader.looks + 20;
        while (leader.looks < enough && !relay.isComplete) await setImmediate();
        if (relay.isComplete) {
          early++;
          for (const [file, bytes] of given.entries()) {
            assert.deepEqual(await own.read({ file, position: 0 }), bytes);
          }
        } else mended++;
        relay.finish(finished(whole));
        while (!relay.isComplete) await setImmediate();
        await relay[Symbol.asyncDispose]();
        for (const [file, bytes] of whole.entries()) {
          assert.deepEqual(await own.read({ file, position: 0 }), bytes);
        }
      },
    ),
    { numRuns: RUNS },
  );
  assert.ok(early > 0, `${early} of them by the relay alone, ${mended} not`);
});
