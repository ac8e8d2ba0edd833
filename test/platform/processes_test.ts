import assert from "node:assert/strict";
import { createDenoProcesses } from "../../src/platform/mod.ts";

const DENO = Deno.execPath();

Deno.test("spawn gives the child no variable but those named", async () => {
  const child = createDenoProcesses([]).spawn({
    command: ["/usr/bin/env"],
    env: { ONLY: "this" },
  });
  await child.stdin.close();
  const [out] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  assert.equal(out, "ONLY=this\n");
});

Deno.test("kill ends a child that ignores SIGTERM when SIGKILL follows", async () => {
  const child = createDenoProcesses([]).spawn({
    command: [
      DENO,
      "eval",
      `Deno.addSignalListener("SIGTERM", () => console.log("deaf")); console.log("up"); setInterval(() => {}, 1000);`,
    ],
    env: {},
  });
  const heard = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assert.match((await heard.read()).value ?? "", /up/);
  child.kill("SIGTERM");
  assert.match((await heard.read()).value ?? "", /deaf/);
  child.kill("SIGKILL");
  assert.equal((await child.exited).signal, "SIGKILL");
  child.kill("SIGKILL");
  while (!(await heard.read()).done);
  await child.stderr.cancel();
  await child.stdin.abort();
});

Deno.test("the child's stdin ends when its parent is killed", async () => {
  const grandparent = new Deno.Command(DENO, {
    args: [
      "eval",
      `const child = new Deno.Command(Deno.execPath(), {
        args: ["eval", "for await (const _ of Deno.stdin.readable);"],
        stdin: "piped",
      }).spawn();
      console.log(child.pid);
      await child.status;`,
    ],
    stdout: "piped",
    stdin: "null",
  }).spawn();
  const reader = grandparent.stdout.pipeThrough(new TextDecoderStream())
    .getReader();
  const pid = Number((await reader.read()).value);
  assert.ok(pid > 0);
  grandparent.kill("SIGKILL");
  await grandparent.status;
  // The pipe of the grandchild's stdout ends with it: this waits for its end.
  while (!(await reader.read()).done);
});
