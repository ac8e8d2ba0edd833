import { EVERY_NETWORK, type Network, parseNetwork } from "../domain/mod.ts";
import { toggle } from "./plain_value.ts";
import { accept, listOf, refuse, type Verdict } from "./setting.ts";

const MOST = 256;
const networks = listOf(network, MOST);

/**
 * Read from where callers need no key.
 *
 * @param text A toggle, which means everywhere or nowhere, or networks in CIDR notation separated by commas.
 */
export function anonymousNetworks(text: string): Verdict<readonly Network[]> {
  const all = toggle(text);
  if (all.kind === "accepted") return accept(all.value ? EVERY_NETWORK : []);
  return networks(text);
}

function network(text: string): Verdict<Network> {
  // Without a length, a mistyped toggle would be an address.
  const read = text.includes("/") ? parseNetwork(text) : undefined;
  return read === undefined ? refuse() : accept(read);
}
