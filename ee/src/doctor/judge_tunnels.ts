import { escapeUnprintable } from "@covey/core/domain";
import type { TunnelView } from "../ssh/ssh_tunnels.ts";
import { type Finding, info, ok, problem, warning } from "./finding.ts";

/**
 * Judge the tunnel to one peer over ssh.
 *
 * @param view How it fares.
 */
export function judgeTunnel({ name, tunnel }: TunnelView): Finding {
  const step = "ssh";
  switch (tunnel.state) {
    case "starting":
      return info(name, step, "is being opened");
    case "up":
      return tunnel.callbackPort === null
        ? warning(
          name,
          step,
          "stands one way: the peer is a worker only",
          "allow AllowTcpForwarding in its sshd, so that it can call back",
        )
        : ok(name, step, "stands both ways");
    case "down":
      return problem(
        name,
        step,
        escapeUnprintable(tunnel.reason),
        adviseSsh(tunnel.reason, name),
      );
    default:
      return tunnel satisfies never;
  }
}

function adviseSsh(reason: string, name: string): string {
  const [, peer = name, port] = /^ssh:\/\/(.*?)(?::(\d+))?$/.exec(name) ?? [];
  const target = port === undefined ? peer : `-p ${port} ${peer}`;
  if (/Host key verification failed|host key/i.test(reason)) {
    return `connect once by hand as the user that runs Covey, and check the host's key: \`ssh ${target}\``;
  }
  if (/Permission denied/i.test(reason)) {
    return `let the user that runs Covey in without a password: \`ssh-copy-id ${target}\``;
  }
  if (/resolve hostname/i.test(reason)) {
    return "check the name in COVEY_PEERS, or give it in ~/.ssh/config";
  }
  if (/no ssh on this machine/.test(reason)) {
    return "install the OpenSSH client";
  }
  if (/forwarding|administratively/i.test(reason)) {
    return "allow AllowTcpForwarding in its sshd";
  }
  return `try it by hand as the user that runs Covey: \`ssh -oBatchMode=yes ${target} true\``;
}
