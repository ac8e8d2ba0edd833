import { eventually } from "../eventually.ts";
import type { LanHost } from "./lan_host.ts";
import { endOf } from "./run_program.ts";

/** A real Avahi on a host, with a message bus and a host name of its own. */
export interface Avahi extends AsyncDisposable {
  /** Run one of its programs to the end, and return what it wrote. */
  run(...command: readonly string[]): Promise<string>;
  /** Publish a service until the stack is disposed of. */
  publish(
    stack: AsyncDisposableStack,
    ...args: readonly string[]
  ): Promise<void>;
}

/**
 * Start Avahi on a host.
 *
 * @param host Where.
 * @returns It, once it answers.
 */
export async function startAvahi(host: LanHost): Promise<Avahi> {
  const script = `
    hostname avahi-${host.number}
    mount -t tmpfs tmpfs /run
    mkdir -p /run/dbus /run/avahi-daemon
    dbus-daemon --system --fork --nopidfile
    printf '[server]\\nallow-interfaces=e0\\nuse-ipv4=yes\\nuse-ipv6=yes\\n[publish]\\npublish-workstation=no\\n' > /run/avahi.conf
    exec avahi-daemon -f /run/avahi.conf --no-drop-root --no-chroot --no-rlimits`;
  const [program = "", ...args] = host.command(
    ...["unshare", "-m", "-u", "sh", "-c", script],
  );
  const child = new Deno.Command(program, {
    args,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const inside = (...command: readonly string[]) => [
    ...["nsenter", "-t", String(child.pid), "-m", "-u", "-n", "--"],
    ...command,
  ];
  const run = async (...command: readonly string[]) =>
    (await endOf(inside(...command))).stdout;
  const end = async () => {
    child.kill("SIGTERM");
    await child.status;
  };
  try {
    await eventually("Avahi answers", async () => {
      const { code } = await endOf(inside("avahi-browse", "-apt"));
      return code === 0 ? true : undefined;
    });
  } catch (error) {
    await end();
    throw error;
  }
  return {
    run,
    // deno-lint-ignore require-await
    async publish(stack, ...more) {
      const [publisher = "", ...rest] = inside("avahi-publish", ...more);
      const publishing = new Deno.Command(publisher, {
        args: rest,
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).spawn();
      stack.defer(async () => {
        publishing.kill("SIGTERM");
        await publishing.status;
      });
    },
    [Symbol.asyncDispose]: end,
  };
}
