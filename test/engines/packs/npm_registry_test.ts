import assert from "node:assert/strict";
import { parseRegistry } from "../../../src/engines/packs/npm_registry.ts";

Deno.test("parseRegistry takes an address as npm prints it, and nothing else", () => {
  assert.equal(
    parseRegistry("https://registry.example/npm/\n"),
    "https://registry.example/npm",
  );
  for (const said of ["", "undefined", "file:///etc", "registry.example"]) {
    assert.equal(parseRegistry(said), null, said);
  }
});
