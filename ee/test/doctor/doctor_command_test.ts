import assert from "node:assert/strict";
import type { ApiReply, CliContext } from "@covey/core/cli";
import { createSeededEntropy } from "@covey/core/platform";
import { doctorCommand } from "../../src/cli/doctor.ts";

/** Run the command with a configuration that listens on a host, and a reply of the node. */
async function run(
  host: string | null,
  reply: ApiReply,
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string }> {
  const out: string[] = [];
  const context = {
    version: "1",
    entropy: createSeededEntropy(1),
    stdout: (text: string) => void out.push(text),
    stderr: (text: string) => void out.push(text),
    nodeConfig: () =>
      Promise.resolve(
        host === null ? { kind: "bad", line: "COVEY_PORT: wrong" } : {
          kind: "config",
          config: {
            listen: [{ host, port: 0 }],
            allowAnonymous: [],
            tls: null,
            cluster: {
              secret: null,
              linkHost: "127.0.0.1",
              linkPort: 0,
              mdnsInterfaces: null,
            },
          },
        },
      ),
    fetchJson: () => Promise.resolve(reply),
  };
  // Only what the command may touch is there.
  const code = await doctorCommand.run(
    args,
    context as unknown as CliContext,
  );
  return { code, out: out.join("\n") };
}

const AWAY: ApiReply = { kind: "unreachable", message: "No node answers" };

function answer(verdict: string): ApiReply {
  const finding = {
    subject: "pi",
    step: "port",
    verdict,
    text: "no answer",
    fix: "allow it",
  };
  return { kind: "answered", body: { ok: true, findings: [finding] } };
}

Deno.test("covey doctor ends with 1 where something is wrong, and with 0 for warnings", async () => {
  const bad = await run("127.0.0.1", answer("problem"));
  assert.equal(bad.code, 1);
  assert.match(bad.out, /FAIL {2}pi: port: no answer\n {6}→ allow it/);
  const warned = await run("127.0.0.1", answer("warning"));
  assert.equal(warned.code, 0);
  assert.match(warned.out, /WARN {2}pi: port/);
});

Deno.test("covey doctor gives the same as JSON", async () => {
  const { code, out } = await run("127.0.0.1", answer("problem"), "--json");
  assert.equal(code, 1);
  const report = JSON.parse(out);
  assert.equal(report.ok, false);
  assert.equal(report.running, true);
  assert.equal(report.findings.at(-1).fix, "allow it");
});

Deno.test("covey doctor looks at this machine where no node runs, and says so", async () => {
  const { code, out } = await run("127.0.0.1", AWAY);
  assert.equal(code, 1);
  assert.match(out, /FAIL {2}node: running: No node answers/);
  assert.match(out, /descriptors/);
  assert.match(out, /no node runs here, so only this machine was looked at/);
});

Deno.test("covey doctor takes who reaches the API from the node that runs, whose settings may be others", async () => {
  const open = await run("0.0.0.0", AWAY);
  assert.match(open.out, /WARN {2}node: API: has no TLS on 0\.0\.0\.0/);
  const served = await run("0.0.0.0", answer("ok"));
  assert.doesNotMatch(served.out, /API/);
});

Deno.test("covey doctor names a bad configuration, an unknown form and wrong usage", async () => {
  const bad = await run(null, AWAY);
  assert.equal(bad.code, 1);
  assert.match(bad.out, /COVEY_PORT: wrong/);
  const odd = await run("127.0.0.1", { kind: "answered", body: [] });
  assert.equal(odd.code, 1);
  assert.equal((await run("127.0.0.1", AWAY, "--no")).code, 2);
});
