import type { Host } from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";
import { formatAddress } from "./link/link_address.ts";
import type { Dialer } from "./membership/dialer.ts";
import { createLocalPorts } from "./ssh/local_port.ts";
import type { SshPeer } from "./ssh/ssh_command.ts";
import { SshTunnels } from "./ssh/ssh_tunnels.ts";
import type { Whereabouts } from "./whereabouts.ts";

/** What reaching the peers that the operator named needs. */
export interface NamedPeersOptions {
  readonly host: Host;
  readonly platform: Platform;
  readonly places: Whereabouts;
  readonly dialer: Dialer;
}

/**
 * Begin to dial the peers that the operator named, those over ssh through a
 * tunnel each.
 *
 * @returns The tunnels, which the caller owns.
 */
export function reachNamedPeers(
  { dialer, host, places, platform }: NamedPeersOptions,
): SshTunnels {
  const overSsh: SshPeer[] = [];
  for (const peer of host.config.peers) {
    if (peer.kind === "ssh") overSsh.push(peer);
    else dialer.add(`static ${formatAddress(peer)}`, "static", [peer]);
  }
  return new SshTunnels(overSsh, {
    ownLink: places.ownLink(),
    clock: platform.clock,
    log: host.log.child("ssh"),
    processes: platform.processes,
    ports: createLocalPorts(),
    env: host.toolEnv ?? {},
    onUp: (name, address) => dialer.add(name, "static", [address]),
    onDown: (name, address) => {
      dialer.drop(name);
      places.book.closeTunnel(address);
    },
  });
}
