import type { DialOutcome, DialResult } from "./call_back.ts";
import type { SystemKind } from "./finding.ts";

/** What is known around a dial that failed. */
export interface DialSetting {
  /** The system of the machine whose dial it was. */
  readonly system: SystemKind;
  /** Who was dialled, as people call it. */
  readonly target: string;
  /** Whether multicast of the one that was dialled arrives. */
  readonly heard: boolean;
  /** Whether the address lies on a network of the dialling machine. */
  readonly onLink: boolean;
  /** Port that was dialled. */
  readonly port: number;
}

/** The step of a dial that failed. */
export type DialStep = "port" | "TLS" | "key";

/** A dial that failed, explained. */
export interface DialAdvice {
  readonly step: DialStep;
  readonly text: string;
  readonly fix: string;
}

const ISOLATION =
  "multicast from it arrives, so if no firewall is there, the access point keeps its clients apart: turn off AP or client isolation, and do not use the guest network";

/**
 * Explain a dial that met nobody, or somebody else.
 *
 * @param result The dial.
 * @param setting What is known around it.
 */
export function adviseDial(
  result: DialResult & { readonly outcome: Exclude<DialOutcome, "met"> },
  { heard, onLink, port, system, target }: DialSetting,
): DialAdvice {
  const { address, code, outcome } = result;
  switch (outcome) {
    case "refused":
      return {
        step: "port",
        text: `${target} refuses connections at ${address}`,
        fix:
          `see whether Covey runs there and listens on port ${port}: its COVEY_LINK_PORT may be another one, and COVEY_LINK_HOST=127.0.0.1 is reachable over ssh only`,
      };
    case "timeout":
      return {
        step: "port",
        text: `no answer from ${address} in time`,
        fix: `allow TCP port ${port} in the firewall of ${target} (${
          allowPort(port)
        })${heard ? `; ${ISOLATION}` : ""}`,
      };
    case "unreachable":
      return {
        step: "port",
        text: `${address === "" ? "no address" : address} can not be reached${
          code === null ? "" : ` (${code})`
        }`,
        fix: adviseUnreachable(code, { heard, onLink, system, target }),
      };
    case "broken":
      return {
        step: "TLS",
        text: `the connection to ${address} ends before TLS stands`,
        fix:
          `something between the two machines cuts TLS, or another program holds port ${port} there: look for a proxy or security software, and see what listens there`,
      };
    case "protocol":
      return {
        step: "TLS",
        text: `what answers at ${address} speaks another protocol`,
        fix: `see which program holds port ${port} there`,
      };
    case "identity":
      return {
        step: "key",
        text: `another key answers at ${address}`,
        fix:
          `another node has that address now, or ${target} was set up anew: see \`covey members\`, and remove the old one with \`covey remove\` if it is gone`,
      };
    case "copy":
      return {
        step: "key",
        text: `one of two copies of a node answers at ${address}`,
        fix:
          "run `covey identity reset` on the machine that was set up by copying the other's disk",
      };
    default:
      return outcome satisfies never;
  }
}

function adviseUnreachable(
  code: string | null,
  { heard, onLink, system, target }: Omit<DialSetting, "port">,
): string {
  if (code === "EPERM" || code === "EACCES") {
    return "a firewall on this machine forbids it: allow Covey's outgoing connections";
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return "the name is not known: check it in COVEY_PEERS, or give an address";
  }
  if (system === "darwin" && onLink && code === "EHOSTUNREACH") {
    return "macOS keeps this program off the local network: allow it in System Settings > Privacy & Security > Local Network, and start it again";
  }
  if (heard) return ISOLATION;
  if (onLink) {
    return `see that ${target} is on and on this network, and that the access point or switch lets its clients talk to each other`;
  }
  return "this machine has no way to that network: list an address of it that can be reached in COVEY_PEERS, or use ssh://user@host";
}

/** How a port is allowed, on the systems that have a firewall by default. */
export function allowPort(port: number): string {
  return `\`ufw allow ${port}/tcp\`, \`firewall-cmd --add-port=${port}/tcp --permanent\`, or on macOS System Settings > Network > Firewall`;
}
