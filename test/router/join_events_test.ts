import assert from "node:assert/strict";
import fc from "fast-check";
import { joinEvents } from "../../src/router/join_events.ts";

Deno.test("joinEvents gives the bytes of all events, wherever they lie", () => {
  const event = fc.uint8Array({ minLength: 1, maxLength: 8 });
  fc.assert(fc.property(
    fc.array(event, { minLength: 1, maxLength: 6 }),
    fc.boolean(),
    (events, inOnePiece) => {
      const all = events.flatMap((one) => [...one]);
      const piece = new Uint8Array([7, ...all, 7]);
      let at = 1;
      const given = inOnePiece
        ? events.map(({ length }) => piece.subarray(at, at += length))
        : events;
      const joined = joinEvents(given);
      assert.deepEqual([...joined], all);
      if (inOnePiece) assert.equal(joined.buffer, piece.buffer, "no copy");
    },
  ));
  assert.throws(() => joinEvents([]), RangeError);
});
