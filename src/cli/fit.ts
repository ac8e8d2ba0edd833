import { escapeUnprintable } from "../domain/mod.ts";
import { readArguments } from "./arguments.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import {
  type ApiReply,
  type CliContext,
  type Command,
  DONE,
  FAILED,
} from "./command.ts";
import { type FitReply, loadMemoryParsers } from "./memory_replies.ts";
import { nodeNames } from "./node_names.ts";
import { gigabytes } from "./ps.ts";
import { formatTable } from "./table.ts";

const VERDICTS: Readonly<Record<string, string>> = {
  loaded: "is loaded",
  fits: "fits",
  fits_after_unloading: "fits once idle models have left",
  no_room_now: "no room now",
  too_large: "too large for this machine",
  no_disk: "no room on the disk",
  unknown: "not known",
};

const USAGE = "fit MODEL [--json]";

/** `covey fit`. */
export const fitCommand: Command = {
  name: "fit",
  summary: "Tell whether a model fits into the members' memory, pulled or not",
  usage: "MODEL [--json]",
  help: () =>
    [
      "MODEL is a name, or where it would be pulled from (org/repo:Q4_K_M, a URL): then",
      "no more than its header is read there. NEEDS is weights, what the slots' contexts",
      "keep, and buffers. ON CARDS is what lies or would lie in GPU memory of its own; the",
      "rest is in the machine's. Members without the model are judged by what it takes",
      "elsewhere.",
    ].join("\n"),
  async run(args, context) {
    const given = readArguments(args, ["model"]);
    if (given.kind === "wrong") return sayUsage(given.message, USAGE, context);
    const [model = ""] = given.words;
    const reply = await askFit(model, context);
    if (reply.kind !== "answered") return sayFailure(reply, context);
    if (given.json) {
      context.stdout(JSON.stringify(reply.body));
      return DONE;
    }
    const fit = (await loadMemoryParsers()).fit(reply.body);
    if (fit === undefined) {
      context.stderr(UNKNOWN_FORM);
      return FAILED;
    }
    context.stdout(formatFit(fit));
    return DONE;
  },
};

/** Ask of a model that some member has, else of one that could be pulled. */
async function askFit(model: string, context: CliContext): Promise<ApiReply> {
  const here = await context.fetchJson(
    `/covey/fit/${encodeURIComponent(model)}`,
  );
  const isUnknown = here.kind === "refused" && here.status === 404;
  // Sources have a slash: the hub's names, and URLs.
  if (!isUnknown || !model.includes("/")) return here;
  const there = await context.postJson("POST", "/covey/fit", {
    source: model,
  });
  // What can be no source was meant as a name; an older node knows no sources.
  const isNone = there.kind === "refused" &&
    (there.status === 400 || there.status === 405);
  return isNone ? here : there;
}

function formatFit({ model, nodes, readBytes, sizeBytes }: FitReply): string {
  const hasCards = nodes.some(({ cardTotalBytes }) =>
    (cardTotalBytes ?? 0) > 0
  );
  const names = nodeNames(nodes);
  const rows = nodes.map((one) =>
    [
      names.get(one.node) ?? one.nodeName,
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
  const table = formatTable([titles, ...rows], [2]);
  if (sizeBytes === null) return table;
  const read = readBytes === null
    ? ""
    : `, told by the first ${gigabytes(readBytes)} of it`;
  return escapeUnprintable(
    `${model} is not here: ${gigabytes(sizeBytes)} would be pulled${read}`,
  ) + `\n${table}`;
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
