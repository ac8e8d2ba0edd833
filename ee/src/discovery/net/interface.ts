import {
  addressScope,
  type IpFamily,
  isWithin,
  parseIpAddress,
} from "./ip_address.ts";

/** What an interface is, as far as discovery cares. */
export type InterfaceKind =
  | "lan"
  | "loopback"
  | "container_bridge"
  | "bridge_port"
  | "tunnel";

/** An address of an interface. */
export interface InterfaceAddress {
  /** Canonical text without zone. */
  readonly address: string;
  readonly family: IpFamily;
  readonly prefixLength: number;
}

/** An interface of this machine. */
export interface NetworkInterface {
  readonly name: string;
  readonly kind: InterfaceKind;
  /** The system's number for it, or null where that is not known. */
  readonly index: number | null;
  readonly addresses: readonly InterfaceAddress[];
}

/** Which interfaces discovery uses. */
export interface InterfaceChoice {
  readonly chosen: readonly NetworkInterface[];
  /** Names or addresses that were asked for and do not exist now. */
  readonly missing: readonly string[];
}

/**
 * Choose the interfaces to use: those named, else all of the kind `lan`, else
 * the loopback one. Kinds decide, not address ranges: 172.17.0.0/16 can be
 * somebody's LAN.
 *
 * @param all Interfaces of this machine.
 * @param named Names or addresses, or null. An interface named by an address is used with that address only.
 */
export function chooseInterfaces(
  all: readonly NetworkInterface[],
  named: readonly string[] | null,
): InterfaceChoice {
  const usable = all.filter((one) => one.addresses.length > 0);
  if (named === null) {
    const lan = usable.filter((one) => one.kind === "lan");
    const chosen = lan.length > 0
      ? lan
      : usable.filter((one) => one.kind === "loopback").slice(0, 1);
    return { chosen, missing: [] };
  }
  const chosen = new Map<string, NetworkInterface>();
  const missing: string[] = [];
  for (const wanted of named) {
    const byName = usable.find((one) => one.name === wanted);
    const holder = byName ??
      usable.find((one) => one.addresses.some((a) => a.address === wanted));
    if (holder === undefined) {
      missing.push(wanted);
      continue;
    }
    const before = chosen.get(holder.name)?.addresses ?? [];
    const wantedNow = byName !== undefined
      ? holder.addresses
      : holder.addresses.filter((a) => a.address === wanted);
    chosen.set(holder.name, {
      ...holder,
      addresses: [...new Set([...before, ...wantedNow])],
    });
  }
  return { chosen: [...chosen.values()], missing };
}

/** Whether an interface is used, and if not, why. */
export interface InterfaceUse {
  readonly one: NetworkInterface;
  readonly use: "used" | "no_address" | "not_named" | "kind";
}

/**
 * Say of every interface whether `chooseInterfaces` takes it, and why not.
 *
 * @param all Interfaces of this machine.
 * @param named Names or addresses, or null.
 */
export function explainChoice(
  all: readonly NetworkInterface[],
  named: readonly string[] | null,
): readonly InterfaceUse[] {
  const { chosen } = chooseInterfaces(all, named);
  return all.map((one) => ({
    one,
    use: chosen.some(({ name }) => name === one.name)
      ? "used"
      : one.addresses.length === 0
      ? "no_address"
      : named === null
      ? "kind"
      : "not_named",
  }));
}

/**
 * Address that multicast of a family goes out from.
 *
 * @param one The interface.
 * @param family Which family.
 * @returns Its address, or undefined where the interface has none fit for it.
 *     IPv6 needs a link-local one, and does not pass over loopback.
 */
export function multicastAddress(
  one: NetworkInterface,
  family: IpFamily,
): string | undefined {
  if (family === "IPv6" && one.kind === "loopback") return undefined;
  return one.addresses.find((held) => {
    if (held.family !== family) return false;
    const parsed = parseIpAddress(held.address);
    return parsed !== undefined &&
      (family === "IPv4" || addressScope(parsed) === "link_local");
  })?.address;
}

/**
 * Addresses that peers on an interface are told. Where two interfaces stand on
 * one network, both tell the addresses of both, so that their announcements do
 * not void each other. A link-local IPv6 address is told only where there is
 * no other.
 *
 * @param one The interface.
 * @param chosen All interfaces in use.
 * @returns Own ones first; on loopback only 127.0.0.0/8, and nowhere else that.
 */
export function announcedAddresses(
  one: NetworkInterface,
  chosen: readonly NetworkInterface[],
): readonly string[] {
  const others = chosen.filter((other) => other.name !== one.name);
  const candidates = [one, ...others].flatMap(({ addresses }) => addresses)
    .filter(({ address }) => isOnLink(one, address));
  const routed = candidates.filter((held) => !isLinkLocalIpv6(held));
  const told = routed.length > 0
    ? routed.filter((held) => one.kind !== "loopback" || held.family === "IPv4")
    : one.addresses.filter(isLinkLocalIpv6);
  return [...new Set(told.map(({ address }) => address))]
    .slice(0, MOST_ANNOUNCED);
}

function isLinkLocalIpv6({ address }: InterfaceAddress): boolean {
  const parsed = parseIpAddress(address);
  return parsed?.family === "IPv6" && addressScope(parsed) === "link_local";
}

/** Addresses announced for one interface. */
export const MOST_ANNOUNCED = 8;

/**
 * Say whether an address is one that a peer on this interface can have.
 *
 * @param one The hearing interface.
 * @param address Canonical text without zone.
 */
export function isOnLink(one: NetworkInterface, address: string): boolean {
  const parsed = parseIpAddress(address);
  if (parsed === undefined) return false;
  const scope = addressScope(parsed);
  if (scope === "unusable") return false;
  if ((scope === "loopback") !== (one.kind === "loopback")) return false;
  return one.addresses.some((held) => {
    const network = parseIpAddress(held.address);
    return network !== undefined &&
      isWithin(parsed, network, held.prefixLength);
  });
}
