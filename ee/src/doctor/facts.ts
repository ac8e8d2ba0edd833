import type { InterfaceTest, InterfaceUse } from "../discovery/mod.ts";
import type { FailedDial } from "../membership/dialer.ts";
import type { TunnelView } from "../ssh/ssh_tunnels.ts";
import type { CalledBack, DialResult } from "./call_back.ts";
import type { SystemKind } from "./finding.ts";

/** What was asked of a member and could not be had. */
export interface Failed {
  readonly failed: string;
}

/** What was met of one member. */
export interface PeerFacts {
  readonly name: string;
  /** The address in use, or null. */
  readonly inUse: string | null;
  /** A dial of each known address. */
  readonly dials: readonly DialFacts[];
  /** Its status: the round trip in milliseconds, or why there was none. */
  readonly status: { readonly roundTripMs: number } | Failed;
  /** What it met when it was asked to dial back; null where it is too old to be asked. */
  readonly calledBack: CalledBack | Failed | null;
  /** The remote address that it sees is one of this machine's; null where it was not learned. */
  readonly seesOwnAddress: boolean | null;
  /** Whether its multicast is heard now. */
  readonly heard: boolean;
  /** Whether it is reached through a tunnel over ssh. */
  readonly tunnelled: boolean;
}

/** One dial and where it went. */
export interface DialFacts {
  readonly dial: DialResult;
  readonly port: number;
  /** Whether the address is on a network of this machine. */
  readonly onLink: boolean;
}

/** One who was heard or named, and is no member. */
export interface OutsiderFacts {
  readonly target: FailedDial;
  readonly dials: readonly DialFacts[];
}

/** All that a running cluster node finds out for its doctor. */
export interface ClusterFacts {
  readonly system: SystemKind;
  readonly linkPort: number;
  readonly linkHost: string;
  readonly interfaces: readonly InterfaceUse[];
  readonly tests: readonly InterfaceTest[];
  readonly peers: readonly PeerFacts[];
  readonly outsiders: readonly OutsiderFacts[];
  readonly tunnels: readonly TunnelView[];
  /** Soft limit of file descriptors, or null where it is not known. */
  readonly descriptors: number | null;
  /** Whether this process is in a container. */
  readonly inContainer: boolean;
  /** Members at most that were looked at; the others were left out. */
  readonly leftOut: number;
}
