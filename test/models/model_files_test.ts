import assert from "node:assert/strict";
import { groupModelFiles } from "../../src/models/model_files.ts";

function group(...paths: string[]) {
  const files = paths.map((path) => ({
    path,
    sizeBytes: 1,
    modifiedMs: null,
    identity: null,
  }));
  return groupModelFiles(files).map((model) =>
    model.kind === "complete"
      ? [model.name, ...model.files.map(({ path }) => path)]
      : [model.name, model.missing]
  );
}

Deno.test("groupModelFiles puts split files together as GGF-01 asks", () => {
  assert.deepEqual(
    group(
      "m-00003-of-00003.gguf",
      "m-00001-of-00003.gguf",
      "m-00002-of-00003.gguf",
    ),
    [[
      "m",
      "m-00001-of-00003.gguf",
      "m-00002-of-00003.gguf",
      "m-00003-of-00003.gguf",
    ]],
  );
  assert.deepEqual(
    group("m-00001-of-00003.gguf", "m-00003-of-00003.gguf"),
    [["m", [2]]],
  );
  assert.deepEqual(group("x-00001-of-00001.gguf"), [
    ["x", "x-00001-of-00001.gguf"],
  ]);
  assert.deepEqual(group("best-of-breed.gguf", "y-00000-of-00002.gguf"), [
    ["best-of-breed", "best-of-breed.gguf"],
    ["y-00000-of-00002", "y-00000-of-00002.gguf"],
  ]);
  assert.deepEqual(
    group("sub/m-00001-of-00002.gguf", "sub/m-00002-of-00002.gguf"),
    [["m", "sub/m-00001-of-00002.gguf", "sub/m-00002-of-00002.gguf"]],
  );
  assert.deepEqual(
    group("a/m-00001-of-00002.gguf", "b/m-00002-of-00002.gguf"),
    [["m", [2]], ["m", [1]]],
  );
});

Deno.test("groupModelFiles names only the first missing parts when there are many", () => {
  assert.deepEqual(group("m-00001-of-99999.gguf"), [
    ["m", [2, 3, 4, 5, 6, 7, 8, 9]],
  ]);
});
