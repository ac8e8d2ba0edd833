import { endOf, runProgram } from "./run_program.ts";

/** A host's place on the LAN. */
export interface HostAddress {
  readonly ipv4: string;
  readonly ipv6: string;
}

/** One host of a test LAN: a network namespace with the interface `e0`. */
export class LanHost {
  readonly number: number;
  readonly namespace: string;
  readonly switchNamespace: string;
  #address: HostAddress;

  constructor(number: number, namespace: string, switchNamespace: string) {
    this.number = number;
    this.namespace = namespace;
    this.switchNamespace = switchNamespace;
    this.#address = addressIn(77, number);
  }

  /** Its addresses on `e0` now. */
  get address(): HostAddress {
    return this.#address;
  }

  /** The command line that runs a command on this host. */
  command(...command: readonly string[]): string[] {
    return ["ip", "netns", "exec", this.namespace, ...command];
  }

  /** Run a command on this host; it has to succeed. */
  run(...command: readonly string[]): Promise<string> {
    return runProgram(this.command(...command));
  }

  /** Give `e0` the addresses it starts with. */
  async start(): Promise<void> {
    await this.#ip(
      "link set lo up",
      "link set e0 up",
      `addr add ${this.#address.ipv4}/24 brd + dev e0`,
      `addr add ${this.#address.ipv6}/64 dev e0 nodad`,
    );
  }

  /** Move to another network, 10.`network`.0.0/24 and its IPv6 one, as a new DHCP lease does. */
  async readdress(network: number): Promise<void> {
    this.#address = addressIn(network, this.number);
    await this.run("ip", "addr", "flush", "dev", "e0", "scope", "global");
    await this.#ip(
      `addr add ${this.#address.ipv4}/24 brd + dev e0`,
      `addr add ${this.#address.ipv6}/64 dev e0 nodad`,
    );
  }

  /** Stop its frames at the switch without a word: no interface here goes down. */
  async cut(): Promise<void> {
    await this.#switch(`link set p${this.number} nomaster`);
  }

  /** Undo `cut`. */
  async heal(): Promise<void> {
    await this.#switch(`link set p${this.number} master br0`);
  }

  /** Plug a second interface, `e1`, into the same switch. */
  async addInterface(ipv4: string): Promise<void> {
    await this.#switch(
      `link add q${this.number} type veth peer name e1 netns ${this.namespace}`,
      `link set q${this.number} master br0`,
      `link set q${this.number} up`,
    );
    await this.#ip(`link set e1 up`, `addr add ${ipv4}/24 brd + dev e1`);
  }

  /** Add a bridge as Docker makes one, with a container's veth end in it. */
  async addDockerBridge(): Promise<void> {
    await this.#ip(
      "link add docker0 type bridge",
      "addr add 172.17.0.1/16 brd + dev docker0",
      "link set docker0 up",
      "link add veth0 type veth peer name veth1",
      "link set veth0 master docker0",
      "link set veth0 up",
      "link set veth1 up",
    );
  }

  /** Lose a share of packets each way. */
  async lose(percent: number): Promise<void> {
    const mark = Math.round(percent * 100);
    const rules = ["input", "output"].flatMap((hook) => [
      `add chain inet loss ${hook} { type filter hook ${hook} priority -300; }`,
      `add rule inet loss ${hook} ${
        hook === "input" ? "iifname" : "oifname"
      } e0 numgen random mod 10000 < ${mark} counter drop`,
    ]);
    await runProgram(
      this.command("nft", "-f", "-"),
      ["add table inet loss", ...rules].join("\n"),
    );
  }

  /**
   * Shape this host's link, each way.
   *
   * @param rate As `tc` has it, for example "1gbit".
   */
  async shape(rate: string): Promise<void> {
    const shaper = ["tbf", "rate", rate, "burst", "256k", "latency", "50ms"];
    const onSwitch = ["ip", "netns", "exec", this.switchNamespace];
    const port = `p${this.number}`;
    const add = (
      device: string,
    ) => ["tc", "qdisc", "replace", "dev", device, "root", ...shaper];
    await this.run(...add("e0"));
    await runProgram([...onSwitch, ...add(port)]);
  }

  /**
   * Put a delay line between this host and the switch.
   *
   * @param delayMs One way.
   * @param jitterMs How far a frame's own delay may stray from that.
   * @returns Disposing it ends the line, and with it the connection.
   */
  async delay(delayMs: number, jitterMs: number): Promise<AsyncDisposable> {
    const [port, near, far] = ["p", "w", "x"].map((one) =>
      `${one}${this.number}`
    );
    await this.#switch(
      `link set ${port} nomaster`,
      `link add ${near} type veth peer name ${far}`,
      `link set ${near} up`,
      `link set ${far} master br0`,
      `link set ${far} up`,
    );
    // Frames that leave the kernel have to be whole, with their checksums.
    const whole = ["tx", "tso", "gso", "gro"].flatMap((one) => [one, "off"]);
    await this.run("ethtool", "-K", "e0", ...whole);
    const onSwitch = ["ip", "netns", "exec", this.switchNamespace];
    for (const one of [port, near, far]) {
      await runProgram([...onSwitch, "ethtool", "-K", one ?? "", ...whole]);
    }
    const [program = "", ...args] = [
      ...[...onSwitch, "python3", `${import.meta.dirname}/delay_line.py`],
      ...[port ?? "", near ?? "", String(delayMs), String(jitterMs)],
    ];
    const child = new Deno.Command(program, {
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const said = child.stdout.getReader();
    await said.read();
    return {
      async [Symbol.asyncDispose]() {
        child.kill("SIGTERM");
        await child.status;
        await said.cancel();
      },
    };
  }

  /**
   * Read something of an HTTP server from inside this host.
   *
   * @returns Its body, or undefined when there was no good answer within 2 s.
   */
  async fetch(
    url: string,
    ...options: readonly string[]
  ): Promise<string | undefined> {
    const { code, stdout } = await endOf(
      this.command("curl", "-sSf", "-m", "2", ...options, url),
    );
    return code === 0 ? stdout : undefined;
  }

  async #ip(...lines: readonly string[]): Promise<void> {
    await runProgram(
      ["ip", "-n", this.namespace, "-batch", "-"],
      lines.join("\n"),
    );
  }

  async #switch(...lines: readonly string[]): Promise<void> {
    await runProgram(
      ["ip", "-n", this.switchNamespace, "-batch", "-"],
      lines.join("\n"),
    );
  }
}

function addressIn(network: number, number: number): HostAddress {
  return {
    ipv4: `10.${network}.0.${number}`,
    ipv6: `fd${network}::${number}`,
  };
}
