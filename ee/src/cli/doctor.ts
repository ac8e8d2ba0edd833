import {
  type Command,
  DONE,
  FAILED,
  readArguments,
  sayUsage,
  UNKNOWN_FORM,
} from "@covey/core/cli";
import type { Finding } from "../doctor/finding.ts";

/** `covey doctor`: what keeps members from seeing each other, and what to do. */
export const doctorCommand: Command = {
  name: "doctor",
  summary: "Find what keeps this node from others, and say how to mend it",
  usage: "[--json]",
  help: () =>
    "Tries every step on each interface and to each member: multicast, port,\n" +
    "TLS, key, status, dial back, clock; and this machine's limits and ports.\n" +
    "Exit code 0 if nothing is wrong, 1 if something is.",
  async run(args, context) {
    const given = readArguments(args);
    if (given.kind === "wrong") {
      return sayUsage(given.message, "doctor [--json]", context);
    }
    const [{ problem }, report, local] = await Promise.all([
      import("../doctor/finding.ts"),
      import("../doctor/report.ts"),
      import("../doctor/local_examination.ts"),
    ]);
    const read = await context.nodeConfig();
    const findings: Finding[] = [];
    if (read.kind === "bad") {
      findings.push(
        problem(
          "node",
          "configuration",
          read.line,
          "correct it; nothing else can be looked at before",
        ),
      );
      return print(report.reportOf(false, findings));
    }
    const { config } = read;
    const reply = await context.fetchJson("/cluster/doctor");
    if (reply.kind === "unreachable") {
      const { createDenoFiles } = await import("@covey/core/platform");
      const { createDenoInterfaces } = await import("../discovery/mod.ts");
      const files = createDenoFiles(() => context.entropy.uuid().slice(0, 8));
      findings.push(
        problem(
          "node",
          "running",
          reply.message,
          "see its service's log if it should run",
        ),
        ...await local.examineLocally(config, {
          files,
          listInterfaces: createDenoInterfaces(files),
          tryPort: local.tryPort,
        }),
      );
      return print(report.reportOf(false, findings));
    }
    if (reply.kind === "refused") {
      findings.push(
        problem(
          "node",
          "doctor",
          reply.message,
          "see `covey status` and the node's log",
        ),
      );
    } else {
      const found = report.parseFindings(reply.body);
      if (found === undefined) {
        context.stderr(UNKNOWN_FORM);
        return FAILED;
      }
      findings.push(...found);
    }
    return print(report.reportOf(true, findings));

    function print(said: ReturnType<typeof report.reportOf>): number {
      const given = args.includes("--json")
        ? JSON.stringify(report.encodeReport(said))
        : report.formatReport(said);
      context.stdout(given);
      return said.ok ? DONE : FAILED;
    }
  },
};
