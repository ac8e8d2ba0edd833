import { FileError, type Files } from "@covey/core/platform";
import type { InterfaceKind, NetworkInterface } from "./interface.ts";
import {
  addressScope,
  canonicalAddress,
  parseIpAddress,
} from "./ip_address.ts";

const SYSFS = "/sys/class/net";
/** ARPHRD numbers of devices without an Ethernet behind them: tunnels of all sorts. */
const TUNNEL_TYPES = new Set(["65534", "768", "769", "776", "778", "823"]);
/** Kinds are read again after so many looks, since an interface can be put into a bridge any time. */
const LOOKS_PER_READING = 15;

const TUNNEL_NAME =
  /^(?:tun|tap|utun|wg|tailscale|zt|ppp|ipsec|gif|stf|nebula)/;
const BRIDGE_NAME =
  /^(?:docker|br-[0-9a-f]{12}$|virbr|lxcbr|lxdbr|incusbr|cni|podman|flannel|cali|vmnet|vboxnet|bridge1\d\d$)/;
/** Links of macOS between Apple devices, which carry no LAN. */
const APPLE_NAME = /^(?:awdl|llw|anpi|ap)\d+$/;

/** An interface's address as the runtime lists it. */
export interface ListedAddress {
  readonly name: string;
  readonly family: "IPv4" | "IPv6";
  readonly address: string;
  readonly cidr: string;
  readonly scopeid: number | null;
}

/**
 * List the machine's interfaces with their kinds. On Linux the kinds come from
 * /sys, elsewhere from the names.
 *
 * @param files Where /sys is read.
 * @param list The runtime's list.
 * @returns A function that looks now.
 */
export function createDenoInterfaces(
  files: Files,
  list: () => readonly ListedAddress[] = () => Deno.networkInterfaces(),
): () => Promise<readonly NetworkInterface[]> {
  let looks = 0;
  let fingerprint = "";
  let kinds = new Map<string, InterfaceKind>();
  return async () => {
    const grouped = groupAddresses(list());
    const seen = JSON.stringify(grouped);
    if (seen !== fingerprint || looks % LOOKS_PER_READING === 0) {
      const found = new Map<string, InterfaceKind>();
      for (const { name, addresses } of grouped) {
        const isLoopback = addresses.every(({ address }) => {
          const parsed = parseIpAddress(address);
          return parsed !== undefined && addressScope(parsed) === "loopback";
        });
        found.set(
          name,
          isLoopback ? "loopback" : await readKind(files, name),
        );
      }
      fingerprint = seen;
      kinds = found;
    }
    looks++;
    return grouped.map((one) => ({
      ...one,
      kind: kinds.get(one.name) ?? "lan",
    }));
  };
}

/**
 * Bring the runtime's list, one row an address, into one of interfaces. Linux
 * gives further IPv4 addresses labels such as `eth0:1`; they belong to `eth0`.
 *
 * @param listed The runtime's list.
 */
export function groupAddresses(
  listed: readonly ListedAddress[],
): readonly Omit<NetworkInterface, "kind">[] {
  const grouped = new Map<string, Omit<NetworkInterface, "kind">>();
  for (const { name: label, family, address, cidr, scopeid } of listed) {
    const name = label.split(":")[0] ?? label;
    const canonical = canonicalAddress(address.split("%")[0] ?? "");
    const prefixLength = Number(cidr.split("/")[1]);
    if (canonical === undefined || !Number.isInteger(prefixLength)) continue;
    const before = grouped.get(name);
    grouped.set(name, {
      name,
      index: scopeid || (before?.index ?? null),
      addresses: [
        ...before?.addresses ?? [],
        { address: canonical, family, prefixLength },
      ],
    });
  }
  return [...grouped.values()];
}

/**
 * Tell an interface's kind by its name alone.
 *
 * @param name The name.
 */
export function kindByName(name: string): InterfaceKind {
  if (/^lo\d*$/.test(name)) return "loopback";
  if (TUNNEL_NAME.test(name) || APPLE_NAME.test(name)) return "tunnel";
  return BRIDGE_NAME.test(name) ? "container_bridge" : "lan";
}

async function readKind(files: Files, name: string): Promise<InterfaceKind> {
  const folder = `${SYSFS}/${name}`;
  const isPlain = /^[A-Za-z0-9_.@-]+$/.test(name) && !/^\.+$/.test(name);
  if (!isPlain || !await exists(files, folder)) return kindByName(name);
  const uevent = await read(files, `${folder}/uevent`);
  const type = (await read(files, `${folder}/type`)).trim();
  if (
    TUNNEL_TYPES.has(type) || /^DEVTYPE=wireguard$/m.test(uevent) ||
    await exists(files, `${folder}/tun_flags`)
  ) return "tunnel";
  if (await exists(files, `${folder}/brport`)) return "bridge_port";
  if (await exists(files, `${folder}/bridge`)) {
    // A bridge with a real card in it is the host's way to the LAN.
    for (const port of await entries(files, `${folder}/brif`)) {
      if (await exists(files, `${SYSFS}/${port}/device`)) return "lan";
    }
    return "container_bridge";
  }
  return kindByName(name);
}

async function exists(files: Files, path: string): Promise<boolean> {
  try {
    await files.stat(path);
    return true;
  } catch (error) {
    if (error instanceof FileError) return false;
    throw error;
  }
}

async function read(files: Files, path: string): Promise<string> {
  try {
    return await files.readText(path);
  } catch (error) {
    if (error instanceof FileError) return "";
    throw error;
  }
}

async function entries(
  files: Files,
  path: string,
): Promise<readonly string[]> {
  try {
    return (await files.list(path)).map((entry) => entry.name);
  } catch (error) {
    if (error instanceof FileError) return [];
    throw error;
  }
}
