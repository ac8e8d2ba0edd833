import assert from "node:assert/strict";
import { parseRate, readFlags } from "../../src/cli/mod.ts";

const KNOWN = { switches: ["all"], values: ["limit"] };

Deno.test("readFlags reads a value after a blank and after an equals sign", () => {
  for (const args of [["m", "--limit", "5=1"], ["--limit=5=1", "m"]]) {
    const given = readFlags(args, KNOWN);
    assert.ok(given.kind === "given");
    assert.deepEqual(given.words, ["m"]);
    assert.equal(given.values.get("limit"), "5=1");
    assert.equal(given.json, false);
  }
});

Deno.test("readFlags refuses what is no flag, and quotes no more than its name", () => {
  const messages = [
    ["--lmit", "5"],
    ["--lmit=covey1-secret"],
    ["--covey1-secret"],
    ["--all=yes"],
    ["--limit"],
    ["--limit="],
    ["-x"],
  ].map((args) => {
    const given = readFlags(args, KNOWN);
    return given.kind === "wrong" ? given.message : null;
  });
  assert.deepEqual(messages, [
    'There is no flag "--lmit" here',
    'There is no flag "--lmit" here',
    "There is no such flag here",
    "--all takes no value",
    "--limit needs a value",
    "--limit needs a value",
    "Flags begin with two hyphens",
  ]);
});

Deno.test("parseRate reads megabytes a second and nothing else", () => {
  assert.deepEqual(
    ["50", "0.5", "0", "0.0000001", "-1", "1e3", "5MB", "", " 5", "Infinity"]
      .map(parseRate),
    [
      50e6,
      0.5e6,
      ...Array(8).fill(undefined),
    ],
  );
});
