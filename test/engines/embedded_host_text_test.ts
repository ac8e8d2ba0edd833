import assert from "node:assert/strict";
import fc from "fast-check";
import { TextGate } from "../../src/engines/embedded/host/text_gate.ts";
import { TokenText } from "../../src/engines/embedded/host/token_text.ts";

/** Cut a text into pieces at random places. */
const pieces = (letters: string) =>
  fc.array(fc.string({ unit: fc.constantFrom(...letters), maxLength: 5 }), {
    maxLength: 20,
  });

Deno.test("TextGate passes text up to the first stop string, however it is cut", () => {
  fc.assert(fc.property(
    pieces("abc"),
    fc.array(
      fc.string({
        unit: fc.constantFrom(..."abc"),
        minLength: 1,
        maxLength: 4,
      }),
      { maxLength: 3 },
    ),
    (parts, stops) => {
      const gate = new TextGate(stops);
      let passed = "";
      let met: string | null = null;
      let pushed = "";
      for (const part of parts) {
        const result = gate.push(part);
        passed += result.text;
        pushed += part;
        met ??= result.stop;
        if (met === null) {
          // Nothing is held back but what may begin a stop string.
          const held = pushed.slice(passed.length);
          assert.ok(
            held === "" || stops.some((stop) => stop.startsWith(held)),
            `held ${held}`,
          );
        }
      }
      const whole = parts.join("");
      const ends = stops.map((stop) => whole.indexOf(stop))
        .filter((at) => at >= 0);
      if (ends.length === 0) {
        assert.equal(met, null);
        assert.equal(passed + gate.flush(), whole);
      } else {
        assert.ok(met !== null);
        for (const stop of stops) assert.ok(!passed.includes(stop));
        assert.ok(whole.startsWith(passed + met));
      }
    },
  ));
});

Deno.test("TextGate holds a stop string back that spans pieces", () => {
  const gate = new TextGate(["</end>"]);
  assert.deepEqual(gate.push("word </e"), { text: "word ", stop: null });
  assert.deepEqual(gate.push("x</"), { text: "</ex", stop: null });
  assert.deepEqual(gate.push("end> more"), { text: "", stop: "</end>" });
  assert.deepEqual(gate.push("even more"), { text: "", stop: null });
});

Deno.test("TextGate lets everything through at once when nothing can stop it", () => {
  const gate = new TextGate([""]);
  assert.deepEqual(gate.push("a"), { text: "a", stop: null });
  assert.equal(gate.flush(), "");
});

/** Tokens are bytes; what is no character becomes U+FFFD. */
const detokenize = (tokens: readonly number[]) =>
  new TextDecoder().decode(Uint8Array.from(tokens));

Deno.test("TokenText never shows half a character and loses none", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const whole = text.toWellFormed();
    if (whole.includes("\uFFFD")) return;
    const tokens = new TokenText(detokenize, []);
    let shown = "";
    for (const byte of new TextEncoder().encode(whole)) {
      shown += tokens.push(byte);
      assert.ok(whole.startsWith(shown));
    }
    assert.equal(shown + tokens.flush(), whole);
  }));
});

Deno.test("TokenText goes on after bytes that are no character", () => {
  const tokens = new TokenText(detokenize, []);
  const bytes = [0x80, 0x80, 0x80, ...new TextEncoder().encode("€ ok")];
  let shown = "";
  for (const byte of bytes) shown += tokens.push(byte);
  assert.match(shown + tokens.flush(), /^\uFFFD+€ ok$/);
});
