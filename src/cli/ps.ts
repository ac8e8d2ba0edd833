import { escapeUnprintable } from "../domain/mod.ts";
import { askNode } from "./ask.ts";
import type { Command } from "./command.ts";
import { formatDuration } from "./duration.ts";
import { loadMemoryParsers, type MemoryReply } from "./memory_replies.ts";
import { nodeNames } from "./node_names.ts";
import { formatTable } from "./table.ts";

/** `covey ps`: the models that are in memory somewhere, or on their way there. */
export const psCommand: Command = {
  name: "ps",
  summary: "List the models that are in memory on some member, or being loaded",
  usage: "[--json]",
  run: (args, context) =>
    askNode({
      usage: "ps [--json]",
      args,
      path: () => ({ path: "/covey/memory" }),
      async show(body) {
        const reply = (await loadMemoryParsers()).memory(body);
        if (reply === undefined) return null;
        return reply.models.length === 0
          ? "No model is in memory"
          : formatMemory(reply);
      },
    }, context),
};

/**
 * Write models in memory for a terminal.
 *
 * @param reply What the node answered.
 */
export function formatMemory({ models }: MemoryReply): string {
  // Where nothing lies on cards, nobody asks what does.
  const hasCards = models.some(({ cardBytes }) => (cardBytes ?? 0) > 0);
  const names = nodeNames(models);
  const rows = models.map((one) =>
    [
      one.model,
      names.get(one.node) ?? one.nodeName,
      one.engine,
      gigabytes(one.memoryBytes),
      String(one.contextLength),
      ...hasCards ? [gigabytes(one.cardBytes)] : [],
      stateOf(one),
      stayOf(one),
    ].map(escapeUnprintable)
  );
  const titles = [
    "MODEL",
    "NODE",
    "ENGINE",
    "MEMORY",
    "CONTEXT",
    ...hasCards ? ["ON CARDS"] : [],
    "STATE",
    "LEAVES",
  ];
  return formatTable([titles, ...rows], hasCards ? [3, 4, 5] : [3, 4]);
}

function stateOf(
  { inUse, progress, reason, remainingMs, retryInMs, state }:
    MemoryReply["models"][number],
): string {
  if (state === "loading") {
    const part = progress === null ? "" : ` ${Math.round(progress * 100)} %`;
    const rest = remainingMs === null
      ? ""
      : `, about ${formatDuration(remainingMs)}`;
    return `loading${part}${rest}`;
  }
  if (state === "failed") {
    const again = retryInMs === null
      ? ""
      : `, again in ${formatDuration(retryInMs)}`;
    return `failed: ${reason ?? "unknown"}${again}`;
  }
  return inUse === true ? "in use" : state;
}

function stayOf(
  { expiresInMs, inUse, pinned, state }: MemoryReply["models"][number],
): string {
  if (pinned === true) return "pinned";
  if (state !== "warm" || inUse === null) return "";
  if (expiresInMs !== null) return `in ${formatDuration(expiresInMs)}`;
  return inUse ? "" : "never";
}

/**
 * Write a size for a terminal.
 *
 * @param bytes The size, or null where it is not known.
 */
export function gigabytes(bytes: number | null): string {
  if (bytes === null) return "?";
  return bytes < 1e8
    ? `${(bytes / 1e6).toFixed(1)} MB`
    : `${(bytes / 1e9).toFixed(1)} GB`;
}
