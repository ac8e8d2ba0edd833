import assert from "node:assert/strict";
import {
  type ChoiceStep,
  startChoices,
  stepsOf,
} from "../../src/engines/embedded/host/choice_lanes.ts";
import { SlotPool } from "../../src/engines/embedded/host/slot_pool.ts";

const NONE = () => 0;

/** A writer whose answers go on when the test says so. */
class Pen {
  readonly pool: SlotPool<string>;
  /** Slot that each answer was begun on. */
  readonly begunOn = new Map<number, number>();
  /** Answers that were told to end in the middle. */
  readonly stopped: number[] = [];
  readonly #doors = new Map<number, PromiseWithResolvers<"word" | "end">>();

  constructor(slots: number) {
    const names = Array.from({ length: slots }, (_, at) => `slot ${at}`);
    this.pool = new SlotPool(names, 4);
  }

  start(count: number, signal: AbortSignal) {
    return startChoices({
      pool: this.pool,
      count,
      shared: NONE,
      write: (choice, slot, signal) => this.#write(choice, slot.id, signal),
    }, signal);
  }

  async *#write(
    choice: number,
    slot: number,
    signal: AbortSignal,
  ): AsyncGenerator<string, void, void> {
    this.begunOn.set(choice, slot);
    signal.addEventListener("abort", () => this.stopped.push(choice));
    for (let word = 1;; word++) {
      yield `${choice}.${word}`;
      const door = this.#door(choice);
      signal.addEventListener("abort", () => door.reject(signal.reason));
      signal.throwIfAborted();
      const said = await door.promise;
      this.#doors.delete(choice);
      if (said === "end") return;
    }
  }

  /** Let an answer write a word more. */
  word(choice: number): void {
    this.#door(choice).resolve("word");
  }

  /** Let an answer end. */
  end(choice: number): void {
    this.#door(choice).resolve("end");
  }

  fail(choice: number, reason: Error): void {
    this.#door(choice).reject(reason);
  }

  #door(choice: number): PromiseWithResolvers<"word" | "end"> {
    const door = this.#doors.get(choice) ?? Promise.withResolvers();
    // One who has stopped may not be listening any more.
    door.promise.catch(() => {});
    this.#doors.set(choice, door);
    return door;
  }
}

/** Reads steps one by one. */
function readerOf(
  steps: AsyncGenerator<ChoiceStep<string>, void, void>,
): () => Promise<string | null> {
  return async () => {
    const next = await steps.next();
    return next.done ? null : next.value.step;
  };
}

Deno.test("startChoices writes on every slot that is free and mixes the steps as they come", async () => {
  const pen = new Pen(3);
  const next = readerOf(
    stepsOf(await pen.start(3, new AbortController().signal)),
  );
  const firsts = [await next(), await next(), await next()];
  assert.deepEqual(firsts.toSorted(), ["0.1", "1.1", "2.1"]);
  assert.deepEqual([...pen.pool.busy].toSorted(), [0, 1, 2]);
  pen.word(2);
  assert.equal(await next(), "2.2");
  pen.end(2);
  pen.word(1);
  assert.equal(await next(), "1.2");
  pen.end(0);
  pen.end(1);
  assert.equal(await next(), null);
  assert.equal(pen.pool.busy.size, 0);
});

Deno.test("startChoices writes one after the other on its own slot while the others are busy", async () => {
  const pen = new Pen(2);
  const never = new AbortController().signal;
  using _other = await pen.pool.acquire(NONE, never);
  const next = readerOf(stepsOf(await pen.start(3, never)));
  for (const choice of [0, 1, 2]) {
    assert.equal(await next(), `${choice}.1`);
    assert.equal(pen.pool.busy.size, 2);
    pen.end(choice);
  }
  assert.equal(await next(), null);
  assert.deepEqual([...pen.begunOn.values()], [1, 1, 1]);
  assert.equal(pen.pool.busy.size, 1);
});

Deno.test("startChoices gives a further slot to who waits, keeps its own, and takes none that falls free later", async () => {
  const pen = new Pen(2);
  const never = new AbortController().signal;
  const next = readerOf(stepsOf(await pen.start(5, never)));
  const firsts = [await next(), await next()];
  assert.deepEqual(firsts.toSorted(), ["0.1", "1.1"]);
  const waiting = pen.pool.acquire(NONE, never);
  pen.end(0);
  // The own slot goes on with the next answer although somebody waits.
  assert.equal(await next(), "2.1");
  assert.equal(pen.begunOn.get(2), pen.begunOn.get(0));
  assert.equal(pen.pool.waiting, 1);
  pen.end(1);
  const other = await waiting;
  assert.equal(other.slot.id, pen.begunOn.get(1));
  other[Symbol.dispose]();
  for (const choice of [2, 3]) {
    pen.end(choice);
    assert.equal(await next(), `${choice + 1}.1`);
    assert.equal(pen.pool.busy.size, 1);
  }
  pen.end(4);
  assert.equal(await next(), null);
});

Deno.test("startChoices ends every answer at an abort and frees all slots, also when nobody reads", async () => {
  for (const reads of [true, false]) {
    const pen = new Pen(2);
    const leaving = new AbortController();
    const answer = await pen.start(4, leaving.signal);
    const reading = reads ? answer.rest.next() : null;
    const second = await reading;
    if (second !== null) assert.equal(second.done, false);
    leaving.abort(new Error("left"));
    if (reads) await assert.rejects(answer.rest.next(), /left/);
    // Whoever comes next gets both slots.
    const never = new AbortController().signal;
    using _a = await pen.pool.acquire(NONE, never);
    using _b = await pen.pool.acquire(NONE, never);
    assert.deepEqual([...pen.begunOn.keys()], [0, 1]);
    assert.deepEqual(pen.stopped.toSorted(), [0, 1]);
  }
});

Deno.test("startChoices ends all answers when one fails or the reader leaves", async () => {
  const never = new AbortController().signal;
  const failing = new Pen(2);
  const next = readerOf(stepsOf(await failing.start(2, never)));
  await next();
  await next();
  failing.fail(1, new Error("out of memory"));
  await assert.rejects(next(), /out of memory/);
  assert.equal(failing.pool.busy.size, 0);
  assert.ok(failing.stopped.includes(0));

  const left = new Pen(2);
  const steps = stepsOf(await left.start(2, never));
  await steps.next();
  await steps.return();
  assert.equal(left.pool.busy.size, 0);
});

Deno.test("startChoices leaves the queue at an abort", async () => {
  const pen = new Pen(1);
  const held = await pen.pool.acquire(NONE, new AbortController().signal);
  const leaving = new AbortController();
  const waiting = pen.start(2, leaving.signal);
  leaving.abort(new Error("left"));
  await assert.rejects(waiting, /left/);
  assert.equal(pen.pool.waiting, 0);
  held[Symbol.dispose]();
  assert.equal(pen.pool.busy.size, 0);
});
