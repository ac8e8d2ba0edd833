import assert from "node:assert/strict";
import fc from "fast-check";
import { pathOf } from "../../src/api/request_path.ts";

Deno.test("pathOf is what a parser of URLs makes of any path, but for slashes in front", () => {
  const part = fc.constantFrom(
    ..."/.?#%\\:~-_ aZ0é".split(""),
    "%2e",
    "..",
    "//",
    "v1",
  );
  const host = fc.constantFrom("127.0.0.1:11411", "h", "[::1]:80", "pi.local");
  const scheme = fc.constantFrom("http", "https");
  fc.assert(fc.property(
    scheme,
    host,
    fc.array(part, { maxLength: 12 }),
    (scheme, host, parts) => {
      const url = `${scheme}://${host}/${parts.join("")}`;
      const parsed = new URL(url).pathname;
      assert.equal(pathOf(url), parsed.replace(/^\/{2,}/, "/"));
    },
  ));
  assert.equal(pathOf("http://h"), "/");
  assert.equal(pathOf("http://h?x=/y"), "/");
  assert.equal(pathOf("http://h/v1/models?limit=/2"), "/v1/models");
});
