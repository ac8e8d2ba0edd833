import assert from "node:assert/strict";
import {
  type CpaceGroup,
  finishCpace,
  loadCpaceGroup,
} from "../../src/admission/cpace.ts";
import {
  confirmedContent,
  cpaceInputs,
  type RunTerms,
  SessionKeys,
} from "../../src/admission/session_keys.ts";
import type { KeyHash } from "../../src/identity/key_hash.ts";
import {
  ask,
  deskOf,
  keyHashOf,
  objectOf,
  PASSWORD,
  type Wire,
} from "../admission/admission_pair.ts";

const encoder = new TextEncoder();
const WRONG = ["", "another password", "what the secret becomes "].map((
  text,
) => encoder.encode(text));

/** What somebody has who read every message of a run in the clear. */
interface Transcript {
  readonly initiator: KeyHash;
  readonly responder: KeyHash;
  readonly initiatorNonce: Uint8Array;
  readonly responderNonce: Uint8Array;
  readonly initiatorShare: Uint8Array;
  readonly responderShare: Uint8Array;
  readonly initiatorTag: Uint8Array;
  readonly responderTag: Uint8Array;
  readonly present: { readonly payload: string; readonly tag: Uint8Array };
}

async function record(): Promise<Transcript> {
  const wire: Wire = { requests: [], replies: [] };
  const outcome = await ask("a", deskOf("b"), { wire });
  assert.equal(outcome.kind, "admitted");
  const [hello, confirm, present] = wire.requests.map(objectOf);
  const [greeting, confirmed] = wire.replies.map(objectOf);
  const bytes = (field: unknown) => Uint8Array.fromHex(String(field));
  return {
    initiator: keyHashOf("a"),
    responder: keyHashOf("b"),
    initiatorNonce: bytes(hello?.nonce),
    responderNonce: bytes(greeting?.nonce),
    initiatorShare: bytes(confirm?.share),
    responderShare: bytes(greeting?.share),
    initiatorTag: bytes(confirm?.tag),
    responderTag: bytes(confirmed?.tag),
    present: { payload: String(present?.payload), tag: bytes(present?.tag) },
  };
}

function inputsOf(transcript: Transcript, prs: Uint8Array) {
  const terms: RunTerms = {
    ...transcript,
    way: { kind: "secret", slot: 0 },
    prs,
  };
  return cpaceInputs(terms);
}

/** Whether a session key explains the tags of a transcript. */
function explains(
  transcript: Transcript,
  sid: Uint8Array,
  isk: Uint8Array,
): boolean[] {
  const keys = new SessionKeys(isk, sid);
  const content = confirmedContent(transcript);
  return [
    keys.verify("initiator confirms", content, transcript.initiatorTag),
    keys.verify("responder confirms", content, transcript.responderTag),
    keys.verify(
      "initiator payload",
      encoder.encode(transcript.present.payload),
      transcript.present.tag,
    ),
  ];
}

/**
 * All that a guess lets a listener compute without one of the two scalars:
 * with the guess's generator, whether each share is a member of the group it
 * spans, and whether any point at hand, taken for the shared one, or any key
 * made of public values and the guess explains a tag.
 */
function viewOf(
  group: CpaceGroup,
  transcript: Transcript,
  guess: Uint8Array,
): boolean[] {
  const { initiatorShare, responderShare } = transcript;
  const inputs = inputsOf(transcript, guess);
  const generator = group.generator(inputs);
  const small = [1, 2, 3].map((n) => {
    const scalar = new Uint8Array(32);
    scalar[0] = n;
    return scalar;
  });
  const isValid = [initiatorShare, responderShare, generator].map((point) =>
    small.every((scalar) => group.scalarMultVerify(scalar, point) !== undefined)
  );
  const knownScalars = [...small, generator.with(31, 1), guess32(guess)];
  const points = [generator, initiatorShare, responderShare];
  const guessed = knownScalars.flatMap((scalar) =>
    points.flatMap((point) => {
      const isk = finishCpace(group, scalar, point, inputs.sid, transcript);
      return isk === undefined ? [] : explains(transcript, inputs.sid, isk);
    })
  );
  const direct = [guess, generator, inputs.sid, inputs.prs].flatMap((key) =>
    explains(transcript, inputs.sid, key)
  );
  return [...isValid, ...guessed, ...direct];
}

function guess32(guess: Uint8Array): Uint8Array {
  const scalar = new Uint8Array(32);
  scalar.set(guess.subarray(0, 31));
  return scalar.with(0, (scalar[0] ?? 0) | 1);
}

Deno.test("a run read in the clear looks alike under the right secret and under wrong ones", async () => {
  const group = await loadCpaceGroup();
  const transcript = await record();
  const right = viewOf(group, transcript, PASSWORD);
  assert.deepEqual(right.slice(0, 3), [true, true, true]);
  assert.ok(right.slice(3).every((holds) => !holds));
  for (const guess of WRONG) {
    assert.deepEqual(viewOf(group, transcript, guess), right);
  }
});

Deno.test("a tag made of the password alone would tell a right guess from a wrong one", async () => {
  // The attack above sees what it should see where there is something to see.
  const group = await loadCpaceGroup();
  const transcript = await record();
  const { prs, sid } = inputsOf(transcript, PASSWORD);
  const content = confirmedContent(transcript);
  const weak = {
    ...transcript,
    initiatorTag: new SessionKeys(prs, sid).tag("initiator confirms", content),
  };
  const right = viewOf(group, weak, PASSWORD);
  for (const guess of WRONG) {
    assert.notDeepEqual(viewOf(group, weak, guess), right);
  }
});
