import fc from "fast-check";
import assert from "node:assert/strict";
import {
  beginCpace,
  finishCpace,
  generatorString,
  loadCpaceGroup,
  lvCat,
  sessionKey,
} from "../../src/admission/cpace.ts";

const encoder = new TextEncoder();
const hex = (text: string) => Uint8Array.fromHex(text);

// draft-irtf-cfrg-cpace-21, appendix B.3: ristretto255 and SHA-512.
const DRAFT = {
  prs: encoder.encode("Password"),
  ci: encoder.encode("\x0bA_initiator\x0bB_responder"),
  sid: hex("7e4b4791d6a8ef019b936c79fb7f2c57"),
  generatorString: "11435061636552697374726574746f3235350850617373776f726464" +
    "00".repeat(100) +
    "180b415f696e69746961746f720b425f726573706f6e646572107e4b4791d6a8ef01" +
    "9b936c79fb7f2c57",
  g: "222b6b195fe84b1652badb6f6a3ae3d24341e7306967f0b8115b40d5698c7e56",
  ada: encoder.encode("ADa"),
  ya: hex("da3d23700a9e5699258aef94dc060dfda5ebb61f02a5ea77fad53f4ff0976d08"),
  Ya: "d6bac480f2c386c394efc7c47adb9925dcd2630b64f240c50f8d0eec482b9157",
  adb: encoder.encode("ADb"),
  yb: hex("d2316b454718c35362d83d69df6320f38578ed5984651435e2949762d900b80d"),
  Yb: "3ea7e0b19560d7c0b0f5734f63b955286dfa8232b5ebe63324e2d9e7433f7258",
  k: "80b69a8a76457ab6a4d7f887a4bf6b55a2f80ac19c333f917a05fc9887c8b40f",
  iskIr: "b69effbf61b51d56401c0f65601abe428de8206feaaf0e32198896dcae7b35cd" +
    "2b38950a39dfd5d4a79164614c2984f7daa460b588c1e80c3fa2068af7900447",
};

Deno.test("CPace meets the draft's ristretto255 vectors", async () => {
  const group = await loadCpaceGroup();
  assert.equal(generatorString(DRAFT).toHex(), DRAFT.generatorString);
  const g = group.generator(DRAFT);
  assert.equal(g.toHex(), DRAFT.g);
  assert.equal(group.scalarMult(DRAFT.ya, g).toHex(), DRAFT.Ya);
  assert.equal(group.scalarMult(DRAFT.yb, g).toHex(), DRAFT.Yb);
  const k = group.scalarMultVerify(DRAFT.ya, hex(DRAFT.Yb));
  assert.equal(k?.toHex(), DRAFT.k);
  assert.equal(
    group.scalarMultVerify(DRAFT.yb, hex(DRAFT.Ya))?.toHex(),
    DRAFT.k,
  );
  assert.equal(
    sessionKey(
      DRAFT.sid,
      hex(DRAFT.k),
      lvCat(hex(DRAFT.Ya), DRAFT.ada),
      lvCat(hex(DRAFT.Yb), DRAFT.adb),
    ).toHex(),
    DRAFT.iskIr,
  );
});

Deno.test("scalarMultVerify meets the draft's valid and invalid cases (B.3.10, B.3.11)", async () => {
  const group = await loadCpaceGroup();
  const s = hex(
    "7cd0e075fa7955ba52c02759a6c90dbbfc10e6d40aea8d283e407d88cf538a05",
  );
  const x = hex(
    "2c3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c",
  );
  const product =
    "7c13645fe790a468f62c39beb7388e541d8405d1ade69d1778c5fe3e7f6b600e";
  assert.equal(group.scalarMult(s, x).toHex(), product);
  assert.equal(group.scalarMultVerify(s, x)?.toHex(), product);
  const invalid = hex(
    "2b3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c",
  );
  const neutral = new Uint8Array(32);
  assert.equal(group.scalarMultVerify(s, invalid), undefined);
  assert.equal(group.scalarMultVerify(s, neutral), undefined);
});

Deno.test("scalarMultVerify refuses encodings that RFC 9496 says to refuse", async () => {
  const group = await loadCpaceGroup();
  // RFC 9496, appendix A.2: non-canonical field elements, negative ones,
  // non-square x², negative xy, and s = -1; then wrong lengths.
  const refused = [
    "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20",
    "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
    "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "",
    "00",
    "00".repeat(31),
    "00".repeat(33),
  ];
  for (const text of refused) {
    assert.equal(group.scalarMultVerify(DRAFT.ya, hex(text)), undefined, text);
  }
});

Deno.test("lvCat writes lengths as LEB128 and keeps lists of strings apart", () => {
  assert.equal(lvCat().toHex(), "");
  assert.equal(lvCat(new Uint8Array()).toHex(), "00");
  assert.equal(lvCat(encoder.encode("1234")).toHex(), "0431323334");
  assert.equal(lvCat(new Uint8Array(127)).toHex(), "7f" + "00".repeat(127));
  assert.equal(lvCat(new Uint8Array(128)).toHex(), "8001" + "00".repeat(128));
  assert.equal(
    lvCat(encoder.encode("1234"), encoder.encode("5"), new Uint8Array())
      .toHex(),
    "0431323334" + "0135" + "00",
  );
  const lists = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 });
  fc.assert(fc.property(lists, lists, (one, other) => {
    const alike = one.length === other.length &&
      one.every((part, at) => part.toHex() === other[at]?.toHex());
    assert.equal(lvCat(...one).toHex() === lvCat(...other).toHex(), alike);
  }));
});

Deno.test("finishCpace gives both sides one key, and other keys when any input differs", async () => {
  const group = await loadCpaceGroup();
  const initiator = beginCpace(group, DRAFT, DRAFT.ya);
  const key = (
    inputs: { prs: Uint8Array; ci: Uint8Array; sid: Uint8Array },
  ) => {
    const responder = beginCpace(group, inputs, DRAFT.yb);
    const transcript = {
      initiatorShare: initiator.share,
      responderShare: responder.share,
    };
    const own = finishCpace(
      group,
      initiator.scalar,
      responder.share,
      DRAFT.sid,
      transcript,
    );
    const theirs = finishCpace(
      group,
      responder.scalar,
      initiator.share,
      inputs.sid,
      transcript,
    );
    assert(own && theirs);
    assert.equal(own.length, 64);
    return own.toHex() === theirs.toHex();
  };
  assert.equal(key(DRAFT), true);
  assert.equal(key({ ...DRAFT, prs: encoder.encode("password") }), false);
  assert.equal(key({ ...DRAFT, ci: encoder.encode("A") }), false);
  assert.equal(key({ ...DRAFT, sid: new Uint8Array(16) }), false);
});

Deno.test("beginCpace refuses to go on without fresh randomness", async () => {
  const group = await loadCpaceGroup();
  assert.throws(() => beginCpace(group, DRAFT, new Uint8Array(31)), RangeError);
  assert.throws(() => beginCpace(group, DRAFT, new Uint8Array(32)));
});
