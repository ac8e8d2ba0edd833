import type { Log } from "@covey/core/domain";
import type { Clock, Processes } from "@covey/core/platform";
import type { LinkAddress } from "../link/link_address.ts";
import type { LocalPorts } from "./local_port.ts";
import type { SshPeer } from "./ssh_command.ts";
import { SshTunnel, type TunnelState } from "./ssh_tunnel.ts";

/** What all tunnels need. */
export interface TunnelsOptions {
  readonly ownLink: LinkAddress;
  readonly clock: Clock;
  readonly log: Log;
  readonly processes: Processes;
  readonly ports: LocalPorts;
  readonly env: Readonly<Record<string, string>>;
  /** A tunnel stands: its peer can be dialled at its end here. */
  onUp(name: string, address: LinkAddress): void;
  /** A tunnel that stood is gone, and its end here leads nowhere. */
  onDown(name: string, address: LinkAddress): void;
}

/** One tunnel as reports show it. */
export interface TunnelView {
  /** `ssh://user@host`. */
  readonly name: string;
  readonly tunnel: TunnelState;
}

/** The tunnels to all peers over ssh. Owns their processes. */
export class SshTunnels implements AsyncDisposable {
  readonly #tunnels: SshTunnel[] = [];
  readonly #ends = new Map<string, LinkAddress>();
  readonly #options: TunnelsOptions;

  /**
   * Start them.
   *
   * @param peers Whom to reach; one named twice gets one tunnel.
   */
  constructor(peers: readonly SshPeer[], options: TunnelsOptions) {
    this.#options = options;
    for (const peer of peers) {
      const tunnel = new SshTunnel({
        ...options,
        peer,
        onChange: (state) => this.#follow(tunnel.name, state),
      });
      this.#tunnels.push(tunnel);
    }
  }

  /** How each fares. */
  views(): readonly TunnelView[] {
    return this.#tunnels.map(({ name, state }) => ({ name, tunnel: state }));
  }

  /**
   * The way back from the peer whose tunnel ends here.
   *
   * @param address This machine's end.
   * @returns The port on the peer's loopback; null where it has none; undefined
   *   where no tunnel ends there.
   */
  callbackPort(address: LinkAddress): number | null | undefined {
    for (const { state } of this.#tunnels) {
      if (state.state === "up" && state.address.port === address.port) {
        return state.callbackPort;
      }
    }
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#tunnels.map((tunnel) => tunnel[Symbol.asyncDispose]()),
    );
  }

  #follow(name: string, state: TunnelState): void {
    const before = this.#ends.get(name);
    if (before !== undefined) {
      this.#ends.delete(name);
      this.#options.onDown(name, before);
    }
    if (state.state !== "up") return;
    this.#ends.set(name, state.address);
    this.#options.onUp(name, state.address);
  }
}
