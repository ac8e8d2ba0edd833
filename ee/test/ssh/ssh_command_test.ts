import assert from "node:assert/strict";
import { createDenoProcesses } from "@covey/core/platform";
import {
  buildSshCommand,
  nameSshPeer,
  type SshPeer,
} from "../../src/ssh/ssh_command.ts";
import { SshOutput } from "../../src/ssh/ssh_output.ts";

const PEER: SshPeer = {
  kind: "ssh",
  user: "ada",
  host: "pi.lan",
  port: null,
  linkPort: 11412,
};
const ENDS = { localPort: 40001, ownLink: { host: "127.0.0.1", port: 11412 } };

Deno.test("buildSshCommand forwards both ways and ends its options before the peer", () => {
  const command = buildSshCommand(PEER, ENDS);
  const ssh = command.slice(command.indexOf("ssh"));
  assert.deepEqual(ssh.slice(0, 2), ["ssh", "-N"]);
  for (const option of ["-oBatchMode=yes", "-oExitOnForwardFailure=yes"]) {
    assert.ok(ssh.includes(option), option);
  }
  assert.deepEqual(ssh.slice(ssh.indexOf("-L")), [
    "-L",
    "127.0.0.1:40001:127.0.0.1:11412",
    "-R",
    "127.0.0.1:0:127.0.0.1:11412",
    "--",
    "ada@pi.lan",
  ]);
  assert.equal(nameSshPeer(PEER), "ssh://ada@pi.lan");
});

Deno.test("buildSshCommand takes a port, an IPv6 link, and no way back", () => {
  const peer = { ...PEER, port: 2203 };
  const ownLink = { host: "::1", port: 7 };
  const both = buildSshCommand(peer, { ...ENDS, ownLink });
  assert.equal(both[both.indexOf("-p") + 1], "2203");
  assert.equal(both[both.indexOf("-R") + 1], "127.0.0.1:0:[::1]:7");
  const one = buildSshCommand(peer, { ...ENDS, ownLink: null });
  assert.ok(!one.includes("-R"));
  assert.equal(nameSshPeer(peer), "ssh://ada@pi.lan:2203");
});

Deno.test("buildSshCommand refuses whatever is more than one plain word or a port", () => {
  const words = [
    "",
    "-oProxyCommand=id",
    "-",
    "a b",
    "a;id",
    "$(id)",
    "`id`",
    "a\nb",
    "a\u0000b",
    "a@b",
    "a/b",
    "a:b",
    "ä",
    "a'b",
    'a"b',
    "a%h",
  ];
  for (const word of words) {
    for (const key of ["user", "host"]) {
      assert.throws(
        () => buildSshCommand({ ...PEER, [key]: word }, ENDS),
        /no plain word/,
        `${key} ${JSON.stringify(word)}`,
      );
    }
  }
  for (const port of [0, -1, 65536, 1.5, NaN]) {
    assert.throws(() => buildSshCommand({ ...PEER, port }, ENDS), /port/);
    assert.throws(
      () => buildSshCommand({ ...PEER, linkPort: port }, ENDS),
      /port/,
    );
  }
});

Deno.test("buildSshCommand's ssh ends when the node is gone, and hands its exit code on", async () => {
  const keeper = buildSshCommand(PEER, ENDS).slice(0, 4);
  const { spawn } = createDenoProcesses([]);
  const env = { PATH: "/usr/bin:/bin" };
  const stays = "echo up; exec sleep 600";
  for (
    const { script, end, code } of [
      { script: stays, end: "stdin", code: 143 },
      { script: stays, end: "SIGTERM", code: 143 },
      { script: "echo up; exit 7", end: "itself", code: 7 },
    ]
  ) {
    const child = spawn({ command: [...keeper, "sh", "-c", script], env });
    const said = child.stdout.getReader();
    await said.read();
    if (end === "stdin") await child.stdin.close();
    if (end === "SIGTERM") child.kill(end);
    const [status] = await Promise.all([
      child.exited,
      said.read(),
      new Response(child.stderr).bytes(),
    ]);
    if (end !== "stdin") await child.stdin.close().catch(() => {});
    assert.equal(status.code, code, end);
  }
});

Deno.test("SshOutput finds the port of the way back, its refusal, and the last lines that explain", () => {
  const output = new SshOutput();
  const bytes = (text: string) => new TextEncoder().encode(text);
  output.take(bytes("Warning: Permanently added 'x'\r\nAllocated po"));
  assert.equal(output.allocatedPort, null);
  output.take(bytes("rt 43121 for remote forward to 127.0.0.1:1\n"));
  assert.equal(output.allocatedPort, 43121);
  assert.equal(output.reason, null);
  output.take(bytes(`one\ntwo\nthree\n\u001b[31mfour\n${"x".repeat(999)}`));
  output.end();
  const said = textOf(output);
  assert.match(said, /^three; .*four; x+$/);
  assert.ok(!said.includes("\u001b"));
  assert.ok(said.length < 600);
  assert.equal(output.refusedRemote, false);
  output.take(
    bytes("Error: remote port forwarding failed for listen port 0\n"),
  );
  assert.equal(output.refusedRemote, true);
});

function textOf({ reason }: SshOutput): string {
  return reason ?? "";
}
