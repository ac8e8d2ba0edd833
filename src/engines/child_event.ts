import * as z from "zod";
import type { CardReport } from "./card_report.ts";

/** What an engine process tells on its standard output, one JSON object a line. */
export type ChildEvent =
  /** It accepts connections; the model is not loaded yet. */
  | { readonly kind: "listening" }
  /** Part of the load that is done, 0 to 1. */
  | { readonly kind: "loading"; readonly progress: number }
  | {
    readonly kind: "ready";
    /** Tokens of context a slot has. */
    readonly contextLength: number;
    readonly slots: number;
    /** The cards it computes on; null for none but the processor, absent where it does not say. */
    readonly card?: CardReport | null;
  }
  /** It gives up and says why; it exits next. */
  | { readonly kind: "failed"; readonly reason: string };

const LONGEST_REASON = 500;
/** Folders of this machine are no caller's business; a file's own name is. */
const FOLDERS = /(?:\/[^\s/"'`]+)+\//g;

const bytes = z.number().nonnegative();
const cardSchema = z.object({
  gpu: z.string().max(32),
  layers: z.int().nonnegative(),
  usedBytes: bytes,
  totalBytes: bytes,
  freeBytes: bytes,
  isShared: z.boolean(),
}) satisfies z.ZodType<CardReport>;

const schema = z.discriminatedUnion("event", [
  z.object({ event: z.literal("listening") }),
  z.object({ event: z.literal("loading"), progress: z.number() }),
  z.object({
    event: z.literal("ready"),
    contextLength: z.int().positive(),
    slots: z.int().positive(),
    card: cardSchema.nullable().exactOptional(),
  }),
  z.object({ event: z.literal("failed"), reason: z.string() }),
]);

/**
 * Parse a line of an engine process.
 *
 * @param line The line.
 * @returns The event, or undefined for anything else it printed.
 */
export function parseChildEvent(line: string): ChildEvent | undefined {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    // Libraries print to standard output too: what is no JSON is no event.
    return undefined;
  }
  const { data, success } = schema.safeParse(json);
  if (!success) return undefined;
  switch (data.event) {
    case "listening":
      return { kind: "listening" };
    case "loading":
      return {
        kind: "loading",
        progress: Math.min(Math.max(data.progress, 0), 1),
      };
    case "ready":
      return {
        kind: "ready",
        contextLength: data.contextLength,
        slots: data.slots,
        ...data.card === undefined ? {} : { card: data.card },
      };
    case "failed":
      return {
        kind: "failed",
        reason: data.reason.replaceAll(FOLDERS, "").slice(0, LONGEST_REASON),
      };
    default: {
      const never: never = data;
      return never;
    }
  }
}
