import {
  FileError,
  type Files,
  type Platform,
  readDescriptorLimit,
} from "@covey/core/platform";
import type { Discovery } from "../discovery/mod.ts";
import { isOnLink } from "../discovery/mod.ts";
import type { LinkCredentials } from "../link/dial.ts";
import { formatAddress, type LinkAddress } from "../link/link_address.ts";
import type { KeyHash } from "../identity/key_hash.ts";
import type { FailedDial } from "../membership/dialer.ts";
import type { Peer } from "../membership/peer.ts";
import { fetchStatus, type StatusQuestion } from "../membership/status_call.ts";
import type { SshTunnels } from "../ssh/ssh_tunnels.ts";
import type { Whereabouts } from "../whereabouts.ts";
import { askCallBack, type CalledBack, tryDial } from "./call_back.ts";
import type {
  ClusterFacts,
  DialFacts,
  Failed,
  OutsiderFacts,
  PeerFacts,
} from "./facts.ts";
import type { SystemKind } from "./finding.ts";

/** Members looked at in one examination, offline ones first. */
const MOST_PEERS = 32;
const MOST_OUTSIDERS = 16;
const MOST_ADDRESSES = 6;

/** What an examination may touch. */
export interface ExamineMeans {
  readonly platform: Platform;
  readonly system: SystemKind;
  readonly credentials: LinkCredentials;
  readonly linkHost: string;
  readonly linkPort: number;
  readonly peers: readonly Peer[];
  readonly outsiders: readonly FailedDial[];
  readonly places: Whereabouts;
  readonly discovery: Discovery | null;
  readonly tunnels: SshTunnels | null;
  question(keyHash: KeyHash): StatusQuestion;
}

/**
 * Try every step between this node and the others, all at once; takes about
 * 4 s at most.
 *
 * @param means What it may touch.
 * @param signal Aborting it gives up.
 * @returns What was found, not yet judged.
 */
export async function examine(
  means: ExamineMeans,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const { discovery, linkHost, linkPort, platform, system, tunnels } = means;
  const order = means.peers.toSorted((a, b) =>
    Number(a.monitor.health.state === "healthy") -
    Number(b.monitor.health.state === "healthy")
  );
  const looked = order.slice(0, MOST_PEERS);
  const [tests, peers, outsiders, descriptors, inContainer] = await Promise.all(
    [
      discovery?.test() ?? [],
      Promise.all(looked.map((peer) => examinePeer(peer, means, signal))),
      Promise.all(
        means.outsiders.slice(0, MOST_OUTSIDERS)
          .map((target) => examineOutsider(target, means, signal)),
      ),
      readDescriptorLimit(platform.files),
      isInContainer(platform.files),
    ],
  );
  return {
    system,
    linkHost,
    linkPort,
    interfaces: discovery?.interfaces() ?? [],
    tests,
    peers,
    outsiders,
    tunnels: tunnels?.views() ?? [],
    descriptors,
    inContainer,
    leftOut: order.length - looked.length,
  };
}

async function examinePeer(
  peer: Peer,
  means: ExamineMeans,
  signal: AbortSignal,
): Promise<PeerFacts> {
  const { places } = means;
  const { channel, monitor, row } = peer;
  const { keyHash } = row;
  const [dials, status] = await Promise.all([
    dialAll(places.book.candidates(keyHash), keyHash, means, signal),
    askStatus(peer, means, signal),
  ]);
  const calledBack = "failed" in status
    ? null
    : await askBack(peer, means, signal);
  return {
    name: monitor.name,
    inUse: channel.address === null ? null : formatAddress(channel.address),
    dials,
    status,
    calledBack,
    seesOwnAddress: calledBack === null || "failed" in calledBack
      ? null
      : places.isOwnText(calledBack.dial.address),
    heard: places.book.sightedAt(keyHash).length > 0,
    tunnelled: places.book.tunnelsTo(keyHash).length > 0,
  };
}

async function examineOutsider(
  target: FailedDial,
  means: ExamineMeans,
  signal: AbortSignal,
): Promise<OutsiderFacts> {
  return {
    target,
    dials: await dialAll(target.addresses, null, means, signal),
  };
}

function dialAll(
  addresses: readonly LinkAddress[],
  expected: KeyHash | null,
  { credentials, discovery, platform: { clock } }: ExamineMeans,
  signal: AbortSignal,
): Promise<readonly DialFacts[]> {
  const uses = discovery?.interfaces() ?? [];
  return Promise.all(
    addresses.slice(0, MOST_ADDRESSES).map(async (address) => ({
      dial: await tryDial(address, expected, { clock, credentials }, signal),
      port: address.port,
      onLink: uses.some(({ one }) =>
        isOnLink(one, address.host.split("%")[0] ?? address.host)
      ),
    })),
  );
}

async function askStatus(
  { channel, row }: Peer,
  { platform: { clock }, question }: ExamineMeans,
  signal: AbortSignal,
): Promise<PeerFacts["status"]> {
  try {
    const options = { clock, signal };
    const polled = await fetchStatus(channel, question(row.keyHash), options);
    return { roundTripMs: polled.roundTripMs };
  } catch (error) {
    return failure(error, signal);
  }
}

async function askBack(
  { channel, row }: Peer,
  { platform: { clock }, question }: ExamineMeans,
  signal: AbortSignal,
): Promise<CalledBack | Failed | null> {
  try {
    const options = { clock, signal };
    return await askCallBack(channel, question(row.keyHash), options);
  } catch (error) {
    return failure(error, signal);
  }
}

function failure(error: unknown, signal: AbortSignal): Failed {
  signal.throwIfAborted();
  return { failed: error instanceof Error ? error.message : String(error) };
}

/** Docker and Podman each leave a file that says so. */
async function isInContainer(files: Files): Promise<boolean> {
  for (const path of ["/.dockerenv", "/run/.containerenv"]) {
    try {
      await files.stat(path);
      return true;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
    }
  }
  return false;
}
