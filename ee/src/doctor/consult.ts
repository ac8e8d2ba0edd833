import type { Host, JsonValue } from "@covey/core/domain";
import { type Platform, readDescriptorLimit } from "@covey/core/platform";
import { examine, type ExamineMeans } from "./examine.ts";
import { type Finding, info, problem, type SystemKind } from "./finding.ts";
import { judgeDescriptors, judgeExposure } from "./judge_node.ts";
import { encodeReport, judgeCluster, reportOf } from "./report.ts";

/** How the cluster of this node is. */
export type Patient =
  | {
    readonly state: "running";
    readonly means: Omit<ExamineMeans, "platform" | "system">;
  }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "none" };

/**
 * Examine a node and say what was found.
 *
 * @param patient How its cluster is.
 * @param platform Clock, files and the rest.
 * @param host What the machine's owner should do besides, and who reaches the API.
 * @param signal Aborting it gives up.
 * @returns The report as the API gives it.
 */
export async function consult(
  patient: Patient,
  platform: Platform,
  { advice = [], exposure }: Pick<Host, "advice" | "exposure">,
  signal: AbortSignal,
): Promise<JsonValue> {
  const besides = [
    ...exposure === undefined ? [] : judgeExposure(exposure),
    ...advice.map((text) => info("node", "machine", text)),
  ];
  if (patient.state === "running") {
    const means = { ...patient.means, platform, system: systemOf() };
    const facts = await examine(means, signal);
    return encodeReport(reportOf(true, [...judgeCluster(facts), ...besides]));
  }
  const findings: Finding[] = [
    judgeDescriptors(await readDescriptorLimit(platform.files)),
    patient.state === "none"
      ? info(
        "node",
        "cluster",
        "this node is in no cluster: it listens to no member and sends no multicast",
        "set COVEY_CLUSTER_SECRET, or use `covey invite` and `covey join`",
      )
      : problem(
        "node",
        "cluster",
        `the cluster did not come up: ${patient.reason}`,
        "remove the cause and start the node again",
      ),
    ...besides,
  ];
  return encodeReport(reportOf(true, findings));
}

function systemOf(): SystemKind {
  const { os } = Deno.build;
  return os === "linux" || os === "darwin" ? os : "other";
}
