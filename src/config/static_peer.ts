import type { StaticPeer } from "../domain/mod.ts";
import { hostAndPort, port } from "./address.ts";
import { accept, refuse, type Verdict } from "./setting.ts";

/** Port of the link on the other machine, where nothing else is said. */
const USUAL_LINK_PORT = 11_412;

/**
 * One word of letters, digits, `_`, `.` and `-` for user and host, since both
 * end up in the arguments of another program; neither may begin with `-`,
 * where that program would take it for an option.
 */
const SSH =
  /^ssh:\/\/([a-z0-9_.][a-z0-9_.-]{0,63})@([a-z0-9_.][a-z0-9_.-]{0,252})(?::([0-9]{1,5}))?\/?(?:\?link=([0-9]{1,5}))?$/i;

/**
 * Read a peer to dial.
 *
 * @param text `host:port`, or `ssh://user@host`, there with the port of its
 *   ssh server behind a colon and the one of its link behind `?link=` where
 *   they are not the usual ones.
 */
export function staticPeer(text: string): Verdict<StaticPeer> {
  if (/^ssh:/i.test(text)) return sshPeer(text);
  const found = hostAndPort(text);
  if (found.kind === "refused") return found;
  const { host, port } = found.value;
  return port === null || port === 0
    ? refuse()
    : accept({ kind: "address", host, port });
}

function sshPeer(text: string): Verdict<StaticPeer> {
  const [, user, host, sshPort, linkPort] = SSH.exec(text) ?? [];
  if (user === undefined || host === undefined) return badSsh();
  const ssh = sshPort === undefined ? accept(null) : port(sshPort);
  const link = linkPort === undefined
    ? accept(USUAL_LINK_PORT)
    : port(linkPort);
  if (ssh.kind === "refused" || link.kind === "refused") return badSsh();
  if (ssh.value === 0 || link.value === 0) return badSsh();
  return accept({
    kind: "ssh",
    user,
    host,
    port: ssh.value,
    linkPort: link.value,
  });
}

function badSsh(): Verdict<never> {
  return refuse(
    "give ssh://user@host, with :PORT for its ssh server and ?link=PORT for its link where they are not 22 and 11412; user and host are letters, digits, _ . and -",
  );
}
