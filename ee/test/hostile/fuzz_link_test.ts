import assert from "node:assert/strict";
import { createSeededEntropy } from "@covey/core/platform";
import {
  parseAdmissionReply,
  parseAdmissionRequest,
  parsePayload,
  parseVerdict,
} from "../../src/admission/messages.ts";
import {
  emptyHash,
  encodePage,
  extendHash,
  parsePage,
} from "../../src/copy/arrival_page.ts";
import { ArrivalReader } from "../../src/copy/arrival_reader.ts";
import {
  encodeManifest,
  parseManifest,
  rootOfFiles,
} from "../../src/copy/copy_manifest.ts";
import { parseCopies, parseCopyAsk } from "../../src/copy/copy_view.ts";
import {
  encodeOffers,
  parseOfferQuestion,
  parseOffers,
} from "../../src/copy/offer_call.ts";
import { parseQuestion, parseStanding } from "../../src/copy/pull_call.ts";
import { parseJoinToken } from "../../src/invitation/join_token.ts";
import { AnswerDecoder } from "../../src/link/answer_decoder.ts";
import { encodeFrame } from "../../src/link/answer_encoder.ts";
import { encodeAttempt, parseAttempt } from "../../src/link/attempt_wire.ts";
import { WireError } from "../../src/link/wire_error.ts";
import { parseAdmissionPayload } from "../../src/membership/admission_payload.ts";
import { parseStatus } from "../../src/membership/status_message.ts";
import { parseTell } from "../../src/membership/tell_message.ts";
import { attemptFrom, nodeIdOf } from "../link/link_fixture.ts";
import { keyOf, rowOf } from "../membership/rows.ts";
import { feedMany, FUZZ_SEED } from "./fuzz_run.ts";
import { mutate } from "./mutate.ts";

const encoder = new TextEncoder();

function bytesOf(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** A queue as a member states it. */
const QUEUE = { slots: 2, runningMs: [10, 20], waitingMs: [5] };
const HELLO = { v: 1, step: "hello", kind: "secret", nonce: "ab".repeat(32) };

const DIGEST = "ab".repeat(32);
const RUN = "cd".repeat(16);
const SIZES = [4_194_305, 7];
const ARRIVALS = [
  { file: 0, position: 1, digest: DIGEST },
  { file: 1, position: 0, digest: DIGEST },
];
const ORIGIN = {
  source: "org/repo",
  path: "m.gguf",
  revision: "ef".repeat(20),
  etag: null,
  sha256: DIGEST,
};
const WEIGHTS = [{
  name: "m.gguf",
  sizeBytes: 7,
  sha256: DIGEST,
  chunks: [DIGEST],
  origin: ORIGIN,
}];
const ROOT = rootOfFiles(WEIGHTS);

/** Each reader of the link with sound input. What it refuses it refuses in its own way. */
const READERS: readonly {
  readonly name: string;
  readonly corpus: readonly Uint8Array[];
  read(bytes: Uint8Array): unknown;
}[] = [
  {
    name: "parseAttempt",
    corpus: [encodeAttempt(attemptFrom(nodeIdOf(1)))],
    read: parseAttempt,
  },
  {
    name: "parseStatus",
    corpus: [bytesOf({
      v: 1,
      version: "0.1.0",
      bootId: "boot",
      name: "peer",
      linkPort: 11412,
      draining: false,
      rows: [rowOf(1), { ...rowOf(2), state: "removed" }],
      addresses: [{
        keyHash: keyOf(2),
        addresses: [{ host: "192.0.2.2", port: 11412 }, {
          host: "fd00::2",
          port: 1,
        }],
      }],
      door: { inc: 1, open: true },
      work: {
        engines: [{ id: "sim", offers: [], queue: QUEUE }],
        dispatchesSeen: { [nodeIdOf(1)]: 4 },
      },
    })],
    read: parseStatus,
  },
  {
    name: "parseTell",
    corpus: [
      bytesOf({ v: 1, rows: [rowOf(1)], door: { inc: 1, open: false } }),
    ],
    read: parseTell,
  },
  {
    name: "parseAdmissionRequest",
    corpus: [
      bytesOf(HELLO),
      bytesOf({ ...HELLO, kind: "token", token: "cd".repeat(8) }),
      bytesOf({
        v: 1,
        step: "confirm",
        run: "ef".repeat(16),
        share: "01".repeat(32),
        tag: "23".repeat(64),
      }),
      bytesOf({
        v: 1,
        step: "present",
        run: "ef".repeat(16),
        payload: '{"name":"n"}',
        tag: "23".repeat(64),
      }),
    ],
    read: (bytes) => parseAdmissionRequest(bytes, 2 ** 20),
  },
  {
    name: "parseAdmissionReply",
    corpus: [
      bytesOf({
        v: 1,
        step: "hello",
        run: "ef".repeat(16),
        nonce: "ab".repeat(32),
        share: "01".repeat(32),
      }),
      bytesOf({ v: 1, step: "verdict", payload: "{}", tag: "23".repeat(64) }),
      bytesOf({ v: 1, step: "busy" }),
    ],
    read: (bytes) => parseAdmissionReply(bytes, 2 ** 20),
  },
  {
    name: "parsePayload and parseAdmissionPayload",
    corpus: [bytesOf({
      id: nodeIdOf(1),
      name: "peer",
      linkPort: 11412,
      rows: [rowOf(1), rowOf(2)],
    })],
    read(bytes) {
      const payload = parsePayload(textOf(bytes));
      return payload === undefined ? undefined : parseAdmissionPayload(payload);
    },
  },
  {
    name: "parseVerdict",
    corpus: [
      bytesOf({ kind: "admitted", payload: { rows: [] } }),
      bytesOf({ kind: "refused", reason: "Both seats are taken" }),
    ],
    read: (bytes) => parseVerdict(textOf(bytes)),
  },
  {
    name: "parseJoinToken",
    corpus: [encoder.encode(`covey-join.1.${"ABCDEFGH234567".repeat(12)}`)],
    read: (bytes) => parseJoinToken(textOf(bytes)),
  },
  {
    name: "parsePage and ArrivalReader",
    corpus: [
      encodePage({
        run: RUN,
        from: 0,
        sizes: SIZES,
        arrivals: ARRIVALS,
        hash: ARRIVALS.reduce(extendHash, emptyHash(RUN, SIZES)),
      }),
    ],
    read: (bytes) =>
      new ArrivalReader({ sizes: SIZES, weights: 1 }).take(parsePage(bytes)),
  },
  {
    name: "parseOffers",
    corpus: [encodeOffers([{
      model: "m",
      root: ROOT,
      sizeBytes: 7,
      files: [{ origin: ORIGIN, sizeBytes: 7 }],
      members: 1,
    }])],
    read: parseOffers,
  },
  {
    name: "parseOfferQuestion",
    corpus: [bytesOf({ v: 1, source: "org/repo" })],
    read: parseOfferQuestion,
  },
  {
    name: "parseQuestion",
    corpus: [
      bytesOf({ key: DIGEST, sha256s: [DIGEST, null], node: nodeIdOf(1) }),
    ],
    read: parseQuestion,
  },
  {
    name: "parseStanding",
    corpus: [
      bytesOf({ state: "has", model: "m", root: ROOT, companions: DIGEST }),
      bytesOf({ state: "fetching", doneBytes: 1, totalBytes: null }),
      bytesOf({ state: "waiting" }),
    ],
    read: parseStanding,
  },
  {
    name: "parseManifest",
    corpus: [encodeManifest({
      model: "m",
      root: ROOT,
      files: WEIGHTS,
      architecture: "llama",
      contextLength: 4096,
      quantisation: null,
      companions: DIGEST,
    })],
    read: (bytes) => parseManifest(bytes, ROOT),
  },
  {
    name: "parseCopyAsk",
    corpus: [
      bytesOf({
        root: ROOT,
        model: "m",
        bytesPerSecond: null,
        companions: DIGEST,
      }),
    ],
    read: parseCopyAsk,
  },
  {
    name: "parseCopies",
    corpus: [bytesOf({
      copies: [{
        id: "1",
        model: "m",
        root: ROOT,
        state: "copying",
        doneBytes: 1,
        totalBytes: 7,
        bytesPerSecond: 1,
        sources: ["peer"],
        message: null,
      }],
    })],
    read: (bytes) => parseCopies(bytes, { node: nodeIdOf(1), nodeName: "n" }),
  },
  {
    name: "AnswerDecoder",
    corpus: [
      encoder.encode(
        [
          encodeFrame({ kind: "accepted", queue: QUEUE, dispatchesSeen: 3 }),
          encodeFrame({ kind: "alive" }),
          encodeFrame({
            kind: "answer",
            status: 200,
            contentType: "text/plain",
            retryAfter: null,
          }),
          encodeFrame({ kind: "data", bytes: encoder.encode("hello\n") }),
          encodeFrame({ kind: "end" }),
        ].map(textOf).join(""),
      ),
      encodeFrame({
        kind: "refused",
        reason: "queue_full",
        message: "full",
        retryAfterMs: 5,
      }),
    ],
    read(bytes) {
      const decoder = new AnswerDecoder();
      const half = bytes.length >> 1;
      decoder.push(bytes.subarray(0, half));
      return decoder.push(bytes.subarray(half));
    },
  },
];

for (const { corpus, name, read } of READERS) {
  Deno.test(`${name} refuses spoiled messages in its own way, and keeps none`, async () => {
    const entropy = createSeededEntropy(FUZZ_SEED);
    await feedMany(() => {
      const bytes = mutate(corpus, entropy);
      try {
        read(bytes);
      } catch (error) {
        assert.ok(error instanceof WireError, String(error));
      }
    });
  });
}
