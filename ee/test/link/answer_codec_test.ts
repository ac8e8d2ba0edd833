import assert from "node:assert/strict";
import fc from "fast-check";
import { AnswerDecoder } from "../../src/link/answer_decoder.ts";
import { encodeFrame } from "../../src/link/answer_encoder.ts";
import type { AnswerFrame } from "../../src/link/answer_frame.ts";
import { WireError } from "../../src/link/wire_error.ts";

/** Records with a prototype, as parsed JSON has it. */
const record = <Model>(
  fields: { [Name in keyof Model]: fc.Arbitrary<Model[Name]> },
) => fc.record(fields, { noNullPrototype: true });

const ms = fc.nat(100_000);
const queue = record({
  slots: fc.nat(64),
  runningMs: fc.array(ms, { maxLength: 8 }),
  waitingMs: fc.array(ms, { maxLength: 8 }),
});
const alive = fc.array(fc.constant<AnswerFrame>({ kind: "alive" }), {
  maxLength: 2,
});
const accepted = record({
  kind: fc.constant("accepted" as const),
  queue,
  dispatchesSeen: fc.nat(),
});
const head = record({
  kind: fc.constant("answer" as const),
  status: fc.integer({ min: 100, max: 599 }),
  contentType: fc.constantFrom("text/event-stream", "application/json", ""),
  retryAfter: fc.constantFrom(null, "3"),
});
const data = record({
  kind: fc.constant("data" as const),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
});
const fault = record({
  kind: fc.constant("fault" as const),
  code: fc.constantFrom("engine_failed" as const, "internal" as const),
  message: fc.string({ unit: "binary", maxLength: 40 }),
  origin: fc.constantFrom("covey" as const, "engine" as const),
  retryAfterMs: fc.option(ms),
});
const end = fc.constant<AnswerFrame>({ kind: "end" });

const answers: fc.Arbitrary<readonly AnswerFrame[]> = fc.oneof(
  fc.tuple(accepted, alive, head, fc.array(fc.oneof(data, end)), alive, end)
    .map(([first, beats, answer, body, later, last]) => [
      first,
      ...beats,
      answer,
      ...body.filter(({ kind }) => kind === "data"),
      ...later,
      last,
    ]),
  fc.tuple(accepted, alive, fault).map(([first, beats, last]) => [
    first,
    ...beats,
    last,
  ]),
  fault.map((only) => [only]),
  record({
    kind: fc.constant("refused" as const),
    reason: fc.constantFrom(
      "queue_full" as const,
      "duplicate_attempt" as const,
    ),
    message: fc.string({ maxLength: 40 }),
    retryAfterMs: fc.option(ms),
  }).map((only) => [only]),
);

Deno.test("AnswerDecoder reads what encodeFrame wrote, however it is cut", () => {
  fc.assert(fc.property(answers, fc.array(fc.nat(40)), (frames, cuts) => {
    const decoder = new AnswerDecoder();
    const read = decodeIn(decoder, joined(frames.map(encodeFrame)), cuts);
    assert.deepEqual(mergeData(read), mergeData(frames));
    assert.ok(decoder.over);
  }));
});

Deno.test("AnswerDecoder is not over when the bytes stop anywhere before the end", () => {
  fc.assert(fc.property(answers, fc.nat(), (frames, at) => {
    const bytes = joined(frames.map(encodeFrame));
    const decoder = new AnswerDecoder();
    decoder.push(bytes.subarray(0, at % bytes.length));
    assert.ok(!decoder.over);
  }));
});

Deno.test("AnswerDecoder throws nothing but WireError at any bytes", () => {
  const words = fc.constantFrom(
    ..."accepted {},answer {},data 5,data 99999999,data -1,end,:,fault {},refused {}"
      .split(","),
  ).map((line) => new TextEncoder().encode(`${line}\n`));
  fc.assert(
    fc.property(fc.array(fc.oneof(words, fc.uint8Array())), (pieces) => {
      const decoder = new AnswerDecoder();
      try {
        for (const piece of pieces) decoder.push(piece);
      } catch (error) {
        assert.ok(error instanceof WireError, String(error));
      }
    }),
  );
});

Deno.test("AnswerDecoder refuses frames in any other order, long lines and big pieces", () => {
  const first =
    'accepted {"queue":{"slots":1,"runningMs":[],"waitingMs":[]},"dispatchesSeen":1}\n';
  const answer =
    'answer {"status":200,"contentType":"text/plain","retryAfter":null}\n';
  const table: Readonly<Record<string, string>> = {
    "answer first": answer,
    "data before the answer": `${first}data 1\nx`,
    "two accepted": first + first,
    "two answers": first + answer + answer,
    "bytes after the end": `${first}${answer}end\n:\n`,
    "an unknown word": "hello {}\n",
    "a huge piece": `${first}${answer}data 16777217\n`,
    "a negative piece": `${first}${answer}data -1\n`,
    "a header with a line break": first + answer.replace("plain", "pl\\nain"),
    "an endless line": "a".repeat(70_000),
    "deep JSON": `accepted ${"[".repeat(60_000)}\n`,
    "no queue": 'accepted {"dispatchesSeen":1}\n',
  };
  for (const [name, text] of Object.entries(table)) {
    assert.throws(
      () => new AnswerDecoder().push(new TextEncoder().encode(text)),
      WireError,
      name,
    );
  }
});

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

function decodeIn(
  decoder: AnswerDecoder,
  bytes: Uint8Array,
  cuts: readonly number[],
): AnswerFrame[] {
  const frames: AnswerFrame[] = [];
  let at = 0;
  for (const cut of cuts) {
    frames.push(...decoder.push(bytes.subarray(at, at + cut)));
    at += cut;
  }
  frames.push(...decoder.push(bytes.subarray(at)));
  return frames;
}

/** Neighbouring pieces of a body as one, since their cuts mean nothing. */
function mergeData(frames: readonly AnswerFrame[]): AnswerFrame[] {
  const merged: AnswerFrame[] = [];
  for (const frame of frames) {
    const last = merged.at(-1);
    if (frame.kind === "data" && last?.kind === "data") {
      merged.pop();
      merged.push({ kind: "data", bytes: joined([last.bytes, frame.bytes]) });
    } else merged.push(frame);
  }
  return merged;
}
