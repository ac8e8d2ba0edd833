import { LanHost } from "./lan_host.ts";
import { namespaceOf, sweepNamespaces } from "./namespaces.ts";
import { endOf, runProgram } from "./run_program.ts";

/**
 * Hosts on one switch, each a network namespace of its own, with no way out.
 * Nothing is made in the namespace of the tests themselves. One at a time a
 * process.
 */
export class TestLan implements AsyncDisposable {
  readonly hosts: readonly LanHost[];
  readonly #switch: string;

  /**
   * Raise it. Host n has 10.77.0.n and fd77::n.
   *
   * @param count How many hosts.
   * @returns The LAN. Disposing it ends every process in it.
   */
  static async open(count: number): Promise<TestLan> {
    await sweepNamespaces();
    const lan = new TestLan(count);
    try {
      await lan.#raise();
      return lan;
    } catch (error) {
      await sweepNamespaces();
      throw error;
    }
  }

  private constructor(count: number) {
    this.#switch = namespaceOf("sw");
    this.hosts = Array.from(
      { length: count },
      (_, index) =>
        new LanHost(index + 1, namespaceOf(`h${index + 1}`), this.#switch),
    );
  }

  /** Host n, from 1. */
  host(number: number): LanHost {
    const host = this.hosts[number - 1];
    if (host === undefined) throw new RangeError(`There is no host ${number}`);
    return host;
  }

  /** The command line that runs a command where all frames pass. */
  command(...command: readonly string[]): string[] {
    return ["ip", "netns", "exec", this.#switch, ...command];
  }

  /** Let no multicast pass, as access points do that isolate their clients. */
  async isolateMulticast(): Promise<void> {
    await runProgram(
      this.command("nft", "-f", "-"),
      [
        "add table bridge isolation",
        "add chain bridge isolation f { type filter hook forward priority 0; }",
        "add rule bridge isolation f ether daddr & 01:00:00:00:00:00 == 01:00:00:00:00:00 ether daddr != ff:ff:ff:ff:ff:ff meta protocol ip drop",
        "add rule bridge isolation f ip6 daddr ff02::fb drop",
      ].join("\n"),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await sweepNamespaces();
  }

  async #raise(): Promise<void> {
    await runProgram(["ip", "netns", "add", this.#switch]);
    await runProgram([
      ...["ip", "netns", "exec", this.#switch, "sh", "-c"],
      "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6; echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6",
    ]);
    await runProgram(
      ["ip", "-n", this.#switch, "-batch", "-"],
      [
        "link add br0 type bridge mcast_snooping 0 forward_delay 0 stp_state 0",
        "link set br0 up",
      ].join("\n"),
    );
    for (const host of this.hosts) {
      await runProgram(["ip", "netns", "add", host.namespace]);
      const port = `p${host.number}`;
      await runProgram(
        ["ip", "-n", this.#switch, "-batch", "-"],
        [
          `link add ${port} type veth peer name e0 netns ${host.namespace}`,
          `link set ${port} master br0`,
          `link set ${port} up`,
        ].join("\n"),
      );
      // Else an address is of no use for a second.
      await endOf(host.command(
        ...["sh", "-c"],
        "echo 0 > /proc/sys/net/ipv6/conf/e0/accept_dad",
      ));
      await host.start();
    }
  }
}
