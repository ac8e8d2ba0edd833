import type { ApiExposure } from "@covey/core/domain";
import { FEWEST_DESCRIPTORS } from "@covey/core/platform";
import { isLoopback } from "../link/link_address.ts";
import { type Finding, info, ok, problem, warning } from "./finding.ts";

const SUBJECT = "node";

/**
 * Judge the limit of file descriptors.
 *
 * @param limit The soft limit, or null where it is not known.
 */
export function judgeDescriptors(limit: number | null): Finding {
  const step = "descriptors";
  if (limit === null) {
    return info(SUBJECT, step, "the limit is not known on this system");
  }
  return limit >= FEWEST_DESCRIPTORS
    ? ok(SUBJECT, step, `${limit} files and sockets may be open`)
    : problem(
      SUBJECT,
      step,
      `only ${limit} files and sockets may be open, and ${FEWEST_DESCRIPTORS} are needed`,
      `run \`ulimit -n ${FEWEST_DESCRIPTORS}\` first, or set LimitNOFILE=${FEWEST_DESCRIPTORS} in its service`,
    );
}

/**
 * Judge who can read what goes to and from the API.
 *
 * @param exposure Where it listens.
 */
export function judgeExposure(
  { hasTls, hosts, openTo }: ApiExposure,
): readonly Finding[] {
  const step = "API";
  const open = hosts.filter((host) => !isLoopback(host));
  if (open.length === 0) {
    return [ok(SUBJECT, step, "is reachable from this machine alone")];
  }
  return [
    hasTls ? ok(SUBJECT, step, `speaks TLS on ${open.join(", ")}`) : warning(
      SUBJECT,
      step,
      `has no TLS on ${
        open.join(", ")
      }: keys and prompts are readable on the network`,
      "set COVEY_TLS_CERT=self, or COVEY_HOST=127.0.0.1 and reach it through an SSH tunnel, or keep to a network you trust",
    ),
    ...(openTo.length === 0 ? [] : [
      warning(
        SUBJECT,
        step,
        `whoever reaches ${open.join(", ")} from ${
          openTo.join(", ")
        } may use it without a key`,
        "unset COVEY_ALLOW_ANONYMOUS, or name fewer networks in it",
      ),
    ]),
  ];
}

/** A port that a node would listen on, tried while none runs. */
export interface PortFacts {
  /** What it is for. */
  readonly use: "API" | "member link";
  readonly variable: "COVEY_PORT" | "COVEY_LINK_PORT";
  readonly host: string;
  readonly port: number;
  /** Why it can not be had, by the system's word, or null where it can. */
  readonly code: string | null;
}

/**
 * Judge a port that a node would listen on.
 *
 * @param facts What came of trying it.
 */
export function judgePort(
  { code, host, port, use, variable }: PortFacts,
): Finding {
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  switch (code) {
    case null:
      return ok(SUBJECT, "ports", `${address} is free for the ${use}`);
    case "EADDRINUSE":
      return problem(
        SUBJECT,
        "ports",
        `${address}, which the ${use} needs, is held by another program`,
        `stop it (\`ss -ltnp\` or \`lsof -i :${port}\` names it), or set ${variable} to another port`,
      );
    case "EADDRNOTAVAIL":
      return problem(
        SUBJECT,
        "ports",
        `this machine has no address ${host}, where the ${use} is to listen`,
        `give an address of this machine in ${
          variable.replace("PORT", "HOST")
        }`,
      );
    case "EACCES":
      return problem(
        SUBJECT,
        "ports",
        `this user may not listen on ${address}`,
        `set ${variable} to a port above 1023`,
      );
    default:
      return problem(
        SUBJECT,
        "ports",
        `nothing can listen on ${address} (${code})`,
        `set ${variable} to another port`,
      );
  }
}
