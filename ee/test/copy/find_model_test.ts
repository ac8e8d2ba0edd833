import assert from "node:assert/strict";
import { Fault, type NodeId } from "@covey/core/domain";
import type { CopiesOptions } from "../../src/copy/copies_options.ts";
import { findModel } from "../../src/copy/find_model.ts";

const ROOT = "ab".repeat(32);
const OFFERS = [
  { model: "weights", root: ROOT },
  { model: "fresh", root: null },
  { model: "sim-chat", root: "simulated:sim-chat" },
];

/** A node that keeps no models beside a member that offers these. */
const OPTIONS = {
  host: { node: { id: "here" } },
  peers: {
    list: () => [{
      row: { id: "there" },
      monitor: {
        held: { status: { work: { engines: [{ offers: OFFERS }] } } },
      },
    }],
  },
} as unknown as CopiesOptions;

Deno.test("findModel finds weights by name and by root, on whoever has them", () => {
  for (const text of ["weights", ROOT]) {
    assert.deepEqual(findModel(text, OPTIONS), {
      model: { model: "weights", root: ROOT },
      holders: new Set(["there" as NodeId]),
    });
  }
});

Deno.test("findModel says why there is nothing to copy of a model", () => {
  for (
    const [text, words] of [
      ["nobody", /No member has the weights of a model "nobody"/],
      ["fresh", /ask again in a moment/],
      ["sim-chat", /"sim-chat": .*simulated .* have none to copy/],
    ] as const
  ) {
    assert.throws(
      () => findModel(text, OPTIONS),
      (error) => error instanceof Fault && words.test(error.message),
    );
  }
});
