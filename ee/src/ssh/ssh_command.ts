import type { StaticPeer } from "@covey/core/domain";
import type { LinkAddress } from "../link/link_address.ts";
import { formatAddress } from "../link/link_address.ts";

/** A peer that is reached through the system's ssh. */
export type SshPeer = Extract<StaticPeer, { kind: "ssh" }>;

/** Where a tunnel's two ends are. */
export interface TunnelEnds {
  /** Port on this machine's loopback that leads to the peer's link. */
  readonly localPort: number;
  /** This node's own link, for the peer to call back to; null for a tunnel one way. */
  readonly ownLink: LinkAddress | null;
}

/** Letters, digits, `_`, `.` and `-`, not beginning with `-`: never an option, never two words. */
const WORD = /^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/;

/**
 * ssh lives no longer than this node: the shell waits for it, and ends it when
 * its own standard input ends, as it does when the node goes, however it went.
 */
const KEEPER =
  `ssh= end=; trap 'end=1; [ -z "$ssh" ] || kill "$ssh"' TERM; exec 3<&0; ` +
  '"$@" </dev/null 3<&- & ssh=$!; [ -z "$end" ] || kill "$ssh"; ' +
  // A signal may be lost on a process that is about to become another one.
  '{ read -r _ <&3; while kill "$ssh"; do sleep 1; done; } >/dev/null 2>&1 & ' +
  'watch=$!; wait "$ssh"; code=$?; kill "$watch" 2>/dev/null; exit "$code"';

/**
 * Name a peer as people do.
 *
 * @param peer The peer.
 * @returns `ssh://user@host`, with its port where one was given.
 */
export function nameSshPeer({ host, port, user }: SshPeer): string {
  return `ssh://${user}@${host}${port === null ? "" : `:${port}`}`;
}

/**
 * Build the command line of a tunnel. The user's ssh configuration applies.
 *
 * @param peer Whom to reach.
 * @param ends Where the ends are.
 * @returns Program and arguments.
 * @throws {TypeError} When user or host are not one plain word, or a port is none.
 */
export function buildSshCommand(
  { host, linkPort, port, user }: SshPeer,
  { localPort, ownLink }: TunnelEnds,
): readonly string[] {
  for (const word of [user, host]) {
    if (!WORD.test(word)) {
      throw new TypeError(`Cannot hand "${word}" to ssh: it is no plain word`);
    }
  }
  const ports = [linkPort, localPort, port ?? 22, ownLink?.port ?? 1];
  for (const one of ports) {
    if (!Number.isInteger(one) || one < 1 || one > 65_535) {
      throw new TypeError(`Cannot hand port ${one} to ssh`);
    }
  }
  return [
    "/bin/sh",
    "-c",
    KEEPER,
    "sh",
    "ssh",
    "-N",
    "-oBatchMode=yes",
    "-oExitOnForwardFailure=yes",
    "-oConnectTimeout=10",
    // A link that dies silently ends the tunnel in about 15 s.
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    // The port that the other side chose is told at this level.
    "-oLogLevel=INFO",
    ...(port === null ? [] : ["-p", String(port)]),
    "-L",
    `127.0.0.1:${localPort}:127.0.0.1:${linkPort}`,
    ...(ownLink === null
      ? []
      : ["-R", `127.0.0.1:0:${formatAddress(ownLink)}`]),
    "--",
    `${user}@${host}`,
  ];
}
