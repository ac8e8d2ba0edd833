import { escapeUnprintable } from "../domain/mod.ts";
import { askNode } from "./ask.ts";
import type { Command } from "./command.ts";
import { type FitReply, loadMemoryParsers } from "./memory_replies.ts";
import { gigabytes } from "./ps.ts";
import { formatTable } from "./table.ts";

const VERDICTS: Readonly<Record<string, string>> = {
  loaded: "is loaded",
  fits: "fits",
  fits_after_unloading: "fits once idle models have left",
  no_room_now: "no room now",
  too_large: "too large for this machine",
  unknown: "not known",
};

/** `covey fit`. */
export const fitCommand: Command = {
  name: "fit",
  summary: "Tell whether a model fits into the members' memory",
  usage: "MODEL [--json]",
  help: () =>
    "NEEDS is weights, what the slots' contexts keep, and buffers, estimated from the\nfile's header. ON CARDS is what lies or would lie in GPU memory of its own; the rest\nis in the machine's. Members without the model are judged by what it takes elsewhere.",
  run: (args, context) =>
    askNode({
      usage: "fit MODEL [--json]",
      args,
      names: ["model"],
      path: ([model = ""]) => ({
        path: `/covey/fit/${encodeURIComponent(model)}`,
      }),
      async show(body) {
        const reply = (await loadMemoryParsers()).fit(body);
        return reply === undefined ? null : formatFit(reply);
      },
    }, context),
};

function formatFit({ nodes }: FitReply): string {
  const hasCards = nodes.some(({ cardTotalBytes }) =>
    (cardTotalBytes ?? 0) > 0
  );
  const rows = nodes.map((one) =>
    [
      one.nodeName,
      one.engine ?? "-",
      gigabytes(one.neededBytes),
      partsOf(one),
      one.contextLength === null
        ? "?"
        : `${one.slots ?? 1} × ${one.contextLength}`,
      `${gigabytes(one.freeBytes)} of ${gigabytes(one.totalBytes)}`,
      ...hasCards ? [cardsOf(one)] : [],
      [VERDICTS[one.verdict] ?? one.verdict, one.reason]
        .filter((part) => part !== null).join(": "),
    ].map(escapeUnprintable)
  );
  const titles = [
    "NODE",
    "ENGINE",
    "NEEDS",
    "WEIGHTS + CONTEXT + BUFFERS",
    "CONTEXT",
    "FREE",
    ...hasCards ? ["ON CARDS"] : [],
    "VERDICT",
  ];
  return formatTable([titles, ...rows], [2]);
}

/** What would lie on cards, of what they have free. */
function cardsOf(
  { cardBytes, cardFreeBytes, cardTotalBytes }: FitReply["nodes"][number],
): string {
  if (cardTotalBytes === null || cardTotalBytes === 0) return "";
  return `${gigabytes(cardBytes)}, ${gigabytes(cardFreeBytes)} of ${
    gigabytes(cardTotalBytes)
  } free`;
}

function partsOf(
  { cacheBytes, computeBytes, weightsBytes }: FitReply["nodes"][number],
): string {
  return [weightsBytes, cacheBytes, computeBytes].map(gigabytes).join(" + ");
}
