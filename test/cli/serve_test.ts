import assert from "node:assert/strict";
import { serveCommand, type ServeEdge } from "../../src/cli/serve.ts";
import { runCli } from "../../src/cli/mod.ts";
import { parseNodeConfig } from "../../src/config/mod.ts";
import { createFakeContext } from "./fake_context.ts";

/** Serve with real configuration and a node that is ready at once and asked to end. */
async function serve(
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
  start: ServeEdge["start"] = () =>
    Promise.resolve({
      urls: ["http://127.0.0.1:1", "http://192.0.2.1:1"],
      async [Symbol.asyncDispose]() {},
    }),
) {
  const context = createFakeContext();
  const command = serveCommand({
    help: () => "",
    readConfig: (flags) =>
      parseNodeConfig({
        env,
        flags,
        file: null,
        readFile: () => Promise.reject(new Error("No file is named")),
        facts: { hostname: "ada", platformDataDir: "/data", cwd: "/" },
        servesNothing: false,
      }),
    start,
    asked: () => Promise.resolve({ [Symbol.dispose]() {} }),
  });
  const code = await runCli([command], ["serve", ...flags], context);
  return { code, out: context.out, err: context.err.join("\n") };
}

Deno.test("serve says where it is ready, and where what is said there can be read", async () => {
  const { code, out } = await serve([]);
  assert.equal(code, 0);
  assert.deepEqual(out, [
    "Covey is ready at http://127.0.0.1:1",
    "Covey is ready at http://192.0.2.1:1",
    "It has no TLS there: keys and prompts are readable on the network",
  ]);
});

Deno.test("serve takes a bad flag for wrong usage, whatever is wrong with it, and a bad variable for a failure", async () => {
  for (
    const flags of [
      ["--prot", "1"],
      ["--port", "eleven"],
      ["--port"],
      ["--cluster-secret", "x"],
      ["now"],
    ]
  ) {
    assert.equal((await serve(flags)).code, 2, flags.join(" "));
  }
  const bad = await serve([], { COVEY_PORT: "eleven" });
  assert.equal(bad.code, 1);
  assert.match(bad.err, /^COVEY_PORT: "eleven"/);
});

Deno.test("serve ends with a code of its own where the system denies the start", async () => {
  const fail = (denied: boolean) => () =>
    Promise.reject(
      Object.assign(new Error("Failed to start"), {
        name: "StartError",
        denied,
      }),
    );
  assert.equal((await serve([], {}, fail(true))).code, 77);
  const other = await serve([], {}, fail(false));
  assert.deepEqual([other.code, other.err], [1, "Failed to start"]);
});
