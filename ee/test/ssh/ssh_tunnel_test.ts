import assert from "node:assert/strict";
import { ManualClock } from "@covey/core/platform";
import { FakeProcesses } from "../../../test/fakes/fake_processes.ts";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import { SshTunnels } from "../../src/ssh/ssh_tunnels.ts";

const PEER = {
  kind: "ssh",
  user: "ada",
  host: "pi",
  port: null,
  linkPort: 11412,
} as const;

/** Tunnels to one peer whose ssh a test plays. */
class Tunnelling implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly log = new QuietLog();
  readonly processes = new FakeProcesses();
  readonly events: string[] = [];
  /** Whether the tunnel's end here takes connections. */
  answers = false;
  #port = 40_000;
  readonly tunnels: SshTunnels;

  constructor() {
    this.tunnels = new SshTunnels([PEER], {
      ownLink: { host: "127.0.0.1", port: 11412 },
      clock: this.clock,
      log: this.log,
      processes: this.processes,
      ports: {
        free: () => Promise.resolve(++this.#port),
        answers: () => Promise.resolve(this.answers),
      },
      env: { PATH: "/bin" },
      onUp: (_name, { port }) => this.events.push(`up ${port}`),
      onDown: (_name, { port }) => this.events.push(`down ${port}`),
    });
  }

  get state() {
    return this.tunnels.views()[0]?.tunnel;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.tunnels[Symbol.asyncDispose]();
  }
}

Deno.test("SshTunnels stand once ssh names the port of the way back, and end with the node", async () => {
  const tunnelling = new Tunnelling();
  const { clock, events, processes, tunnels } = tunnelling;
  await clock.advance(0);
  assert.deepEqual(processes.last.options.env, { PATH: "/bin" });
  assert.deepEqual(events, []);
  processes.last.complain(
    "Allocated port 43121 for remote forward to 127.0.0.1:11412\n",
  );
  await clock.advance(0);
  assert.deepEqual(events, ["up 40001"]);
  const end = { host: "127.0.0.1", port: 40001 };
  assert.equal(tunnels.callbackPort(end), 43121);
  assert.equal(tunnels.callbackPort({ ...end, port: 1 }), undefined);
  await tunnels[Symbol.asyncDispose]();
  assert.deepEqual(processes.last.signals, ["SIGTERM"]);
});

Deno.test("SshTunnels come back after 1 s, 2 s … 60 s and say once why they are down", async () => {
  await using tunnelling = new Tunnelling();
  const { clock, log, processes } = tunnelling;
  await clock.advance(0);
  for (
    const pauseMs of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]
  ) {
    const before = processes.children.length;
    processes.last.complain("ada@pi: Permission denied (publickey).\n");
    processes.last.exit(255);
    await clock.advance(0);
    assert.deepEqual(tunnelling.state, {
      state: "down",
      reason: "ada@pi: Permission denied (publickey).",
    });
    await clock.advance(pauseMs - 1);
    assert.equal(processes.children.length, before);
    await clock.advance(1);
    assert.equal(processes.children.length, before + 1);
  }
  const told = log.lines.filter(({ message }) => /tunnel.*down/.test(message));
  assert.equal(told.length, 1);
});

Deno.test("SshTunnels go one way where the other side refuses a way back", async () => {
  await using tunnelling = new Tunnelling();
  const { clock, events, processes, tunnels } = tunnelling;
  await clock.advance(0);
  processes.last.complain(
    "Error: remote port forwarding failed for listen port 0\n",
  );
  processes.last.exit(255);
  await clock.advance(0);
  assert.equal(processes.children.length, 2);
  assert.ok(!processes.last.options.command.includes("-R"));
  await clock.advance(500);
  assert.deepEqual(events, []);
  tunnelling.answers = true;
  await clock.advance(250);
  assert.deepEqual(events, ["up 40002"]);
  assert.equal(
    tunnels.callbackPort({ host: "127.0.0.1", port: 40002 }),
    null,
  );
  processes.last.exit(255);
  await clock.advance(0);
  assert.deepEqual(events, ["up 40002", "down 40002"]);
  // The next one asks for a way back again.
  await clock.advance(1000);
  assert.ok(processes.last.options.command.includes("-R"));
});

Deno.test("SshTunnels end an ssh that hangs, and say that there is none", async () => {
  await using tunnelling = new Tunnelling();
  const { clock, processes } = tunnelling;
  await clock.advance(0);
  await clock.advance(30_000);
  assert.deepEqual(processes.last.signals, ["SIGTERM"]);
  await clock.advance(1000);
  processes.last.exit(127);
  await clock.advance(0);
  assert.deepEqual(tunnelling.state, {
    state: "down",
    reason: "there is no ssh on this machine",
  });
});
