import { escapeUnprintable, parseDecisionId } from "../domain/mod.ts";
import { askNode } from "./ask.ts";
import type { Command } from "./command.ts";
import { nodeNames } from "./node_names.ts";
import { type DecisionReply, loadReplyParsers } from "./replies.ts";
import { formatTable } from "./table.ts";

/** `covey explain`: why a request went where it went. */
export const explainCommand: Command = {
  name: "explain",
  summary: "Show what a placement decision weighed, and what came of it",
  usage: "<id> [--json]",
  help: () =>
    "The id is what an answer carries as x-covey-decision. Ask the node that was\n" +
    "called; it keeps the latest decisions in memory. All times are milliseconds.\n" +
    "Copies: what the node does now about a model that too many ask for, where\n" +
    "COVEY_PLACE_MODELS is set.",
  run: (args, context) =>
    askNode({
      usage: "explain <id> [--json]",
      args,
      names: ["decision id"],
      path([text = ""]) {
        const id = parseDecisionId(text);
        return id === undefined
          ? {
            wrong: `"${
              escapeUnprintable(text.slice(0, 64))
            }" is no decision id: 8 to 64 letters, digits and dashes`,
          }
          : { path: `/covey/decisions/${id}` };
      },
      async show(body) {
        const reply = (await loadReplyParsers()).decision(body);
        return reply === undefined ? null : formatDecision(reply);
      },
    }, context),
};

/**
 * Write a decision for a terminal: what was asked, every candidate with all
 * its terms, every attempt.
 *
 * @param decision What the node answered.
 */
export function formatDecision(decision: DecisionReply): string {
  return [
    ...headOf(decision),
    "",
    candidatesOf(decision),
    "",
    ...attemptsOf(decision),
    ...helpOf(decision),
  ].join("\n");
}

function headOf(decision: DecisionReply): string[] {
  const { actual, chosen } = decision;
  const bound = decision.maxOutputTokens === null
    ? "unbounded"
    : `at most ${decision.maxOutputTokens}`;
  return [
    `Decision ${decision.id}: model ${decision.model}, source ${decision.source}, policy ${decision.policy}, seed ${decision.seed}`,
    `Prompt ${decision.promptTokens} tokens; answer ${
      number(decision.expectedOutputTokens)
    } tokens expected, ${bound}`,
    chosen === null
      ? "Chosen: nobody"
      : `Chosen: ${
        nameOf(decision.candidates, chosen.node)
      } / ${chosen.engine} / ${chosen.model}`,
    `Predicted: ${
      number(decision.predictedMs)
    } ms (median), four of five within ${
      number(decision.predictedP80Ms ?? null)
    } ms (P80)`,
    actual === null
      ? "Actual: not finished"
      : `Actual: ${number(actual.totalMs)} ms, first token after ${
        number(actual.ttftMs)
      } ms, ${number(actual.outputTokens)} tokens`,
  ].map(escapeUnprintable);
}

function candidatesOf(
  { candidates, chosen, unlisted = 0 }: DecisionReply,
): string {
  if (candidates.length === 0) return "No candidate offers that model";
  const titles = [
    "",
    "NODE",
    "ENGINE",
    "MODEL",
    "QUEUE",
    "LOAD",
    "EVICT",
    "PREFILL",
    "DECODE",
    "HOP",
    "FACTOR",
    "ESTIMATE",
    "ELIGIBLE",
    "REASON",
  ];
  const rows = candidates.map((one) => {
    const isChosen = one.node === chosen?.node &&
      one.engine === chosen.engine && one.model === chosen.model;
    const { terms } = one;
    return [
      isChosen ? "→" : "",
      nameOf(candidates, one.node),
      one.engine,
      one.model,
      number(terms.queueMs),
      number(terms.loadMs),
      number(terms.evictionMs),
      number(terms.prefillMs),
      number(terms.decodeMs),
      number(terms.hopMs),
      one.factor === null ? "–" : `×${one.factor.toFixed(2)}`,
      number(one.estimateMs),
      one.eligible ? "yes" : "no",
      one.reason,
    ].map(escapeUnprintable);
  });
  const table = formatTable([titles, ...rows], [4, 5, 6, 7, 8, 9, 10, 11]);
  return unlisted === 0
    ? table
    : `${table}\n${unlisted} more were weighed; these are the best`;
}

function attemptsOf(decision: DecisionReply): string[] {
  if (decision.attempts.length === 0) return ["No attempt was made"];
  const titles = [
    "ATTEMPT",
    "NODE",
    "ENGINE",
    "FROM",
    "TO",
    "OUTCOME",
    "REASON",
  ];
  const rows = decision.attempts.map((one) =>
    [
      one.id,
      nameOf(decision.candidates, one.node),
      one.engine,
      number(one.startedAtMs),
      one.endedAtMs === null ? "…" : number(one.endedAtMs),
      one.outcome,
      one.reason ?? "",
    ].map(escapeUnprintable)
  );
  return [formatTable([titles, ...rows], [3, 4])];
}

/** What is so now, long after the decision as it may be. */
function helpOf({ help }: DecisionReply): string[] {
  return help === undefined
    ? []
    : ["", `Copies: ${escapeUnprintable(`${help.state}: ${help.reason}`)}`];
}

function nameOf(
  candidates: DecisionReply["candidates"],
  node: string,
): string {
  return nodeNames(candidates).get(node) ?? node;
}

/** Three figures are what an estimate is good for; null stands for unknown or infinite. */
function number(value: number | null): string {
  if (value === null) return "–";
  return Math.abs(value) >= 100 || Number.isInteger(value)
    ? value.toFixed(0)
    : value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
