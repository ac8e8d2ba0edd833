import { isJsonObject, type JsonValue } from "@covey/core/domain";
import { z } from "zod";
import type { ClusterFacts } from "./facts.ts";
import { type Finding, info } from "./finding.ts";
import { judgeInterfaces } from "./judge_interfaces.ts";
import { judgeDescriptors } from "./judge_node.ts";
import { judgeOutsider, judgePeer } from "./judge_peers.ts";
import { judgeTunnel } from "./judge_tunnels.ts";

/** What the doctor says. */
export interface DoctorReport {
  /** Whether nothing is wrong. */
  readonly ok: boolean;
  /** Whether a node runs here; without one only this machine could be looked at. */
  readonly running: boolean;
  readonly findings: readonly Finding[];
}

/**
 * Judge all that a running cluster node found out.
 *
 * @param facts What was found.
 */
export function judgeCluster(facts: ClusterFacts): readonly Finding[] {
  const { descriptors, leftOut, outsiders, peers, tunnels } = facts;
  return [
    judgeDescriptors(descriptors),
    ...judgeInterfaces(facts),
    ...tunnels.map(judgeTunnel),
    ...(peers.length > 0
      ? peers.flatMap((peer) => judgePeer(peer, facts))
      : [info("members", "count", "this node is the cluster's only member")]),
    ...(leftOut > 0
      ? [info("members", "count", `${leftOut} further members not looked at`)]
      : []),
    ...outsiders.flatMap((one) => judgeOutsider(one, facts)),
  ];
}

/**
 * Put findings together.
 *
 * @param running Whether a node runs here.
 * @param findings In the order in which they are shown.
 */
export function reportOf(
  running: boolean,
  findings: readonly Finding[],
): DoctorReport {
  return {
    ok: findings.every(({ verdict }) => verdict !== "problem"),
    running,
    findings,
  };
}

/** Write a report as JSON. */
export function encodeReport(report: DoctorReport): JsonValue {
  const { findings, ok, running } = report;
  return { ok, running, findings: findings.map((one) => ({ ...one })) };
}

const findingSchema = z.object({
  subject: z.string(),
  step: z.string(),
  verdict: z.enum(["ok", "info", "warning", "problem"]).catch("info"),
  text: z.string(),
  fix: z.string().nullable(),
});

/**
 * Read the findings of a node's report.
 *
 * @returns The findings, or undefined where the form is unknown.
 */
export function parseFindings(
  value: JsonValue,
): readonly Finding[] | undefined {
  if (!isJsonObject(value)) return undefined;
  return z.array(findingSchema).max(10_000).safeParse(value["findings"]).data;
}

const MARKS = { ok: "ok  ", info: "info", warning: "WARN", problem: "FAIL" };

/**
 * Write a report as text: one line a finding, its remedy below it.
 *
 * @param report What to write.
 */
export function formatReport({ findings, running }: DoctorReport): string {
  const lines = findings.flatMap(({ fix, step, subject, text, verdict }) => [
    `${MARKS[verdict]}  ${subject}: ${step}: ${text}`,
    ...(fix === null ? [] : [`      → ${fix}`]),
  ]);
  const count = (wanted: string) =>
    findings.filter(({ verdict }) => verdict === wanted).length;
  const problems = count("problem");
  const warnings = count("warning");
  return [
    ...lines,
    "",
    `${problems === 0 ? "Nothing is wrong" : `${plural(problems, "problem")}`}${
      warnings === 0 ? "" : `, ${plural(warnings, "warning")}`
    }${
      running ? "" : "; no node runs here, so only this machine was looked at"
    }.`,
  ].join("\n");
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
