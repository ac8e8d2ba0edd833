import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Door,
  isShutTo,
  mergeDoors,
  OPEN_DOOR,
  setDoor,
} from "../../src/membership/door.ts";
import { parseDoor } from "../../src/membership/door_wire.ts";

const door: fc.Arbitrary<Door> = fc.record({
  count: fc.nat(3),
  state: fc.constantFrom("open" as const, "closed" as const),
  rotation: fc.nat(2),
}).map((one) => ({ ...one }));

Deno.test("mergeDoors ends alike in any order, with any repetition", () => {
  fc.assert(
    fc.property(fc.array(door, { minLength: 1, maxLength: 6 }), (doors) => {
      const forth = doors.reduce(mergeDoors);
      const back = doors.toReversed().reduce(mergeDoors);
      const twice = [...doors, ...doors].reduce(mergeDoors);
      assert.deepEqual(back, forth);
      assert.deepEqual(twice, forth);
    }),
  );
  fc.assert(fc.property(door, door, door, (a, b, c) => {
    assert.deepEqual(
      mergeDoors(mergeDoors(a, b), c),
      mergeDoors(a, mergeDoors(b, c)),
    );
  }));
});

Deno.test("the later word wins; of two at once, closed", () => {
  const closed = setDoor(OPEN_DOOR, "closed", 0);
  assert.equal(mergeDoors(OPEN_DOOR, closed).state, "closed");
  assert.equal(mergeDoors(setDoor(closed, "open", 0), closed).state, "open");
  const both = mergeDoors(
    setDoor(closed, "open", 0),
    setDoor(closed, "closed", 0),
  );
  assert.equal(both.state, "closed");
});

Deno.test("a closed door is shut to the secrets of its time and open to a later one", () => {
  const closed = setDoor(OPEN_DOOR, "closed", 1);
  assert.ok(isShutTo(closed, 0));
  assert.ok(isShutTo(closed, 1));
  assert.ok(!isShutTo(closed, 2));
  assert.ok(!isShutTo(setDoor(closed, "open", 1), 1));
});

Deno.test("parseDoor takes no nonsense", () => {
  const wrong = [undefined, null, 1, "closed", {}, { count: -1 }, {
    count: 1e300,
    state: "ajar",
    rotation: 0,
  }];
  for (const value of wrong) assert.deepEqual(parseDoor(value), OPEN_DOOR);
});
