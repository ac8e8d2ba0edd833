import type { DecisionId, DecisionRecord } from "../../src/domain/mod.ts";
import { place } from "../../src/router/place.ts";
import { placeInputOf } from "../../src/router/placement_inputs.ts";

/** What came of making a placement again. */
export type Replayed =
  | {
    readonly kind: "same";
    readonly id: DecisionId;
    readonly chosen: string;
  }
  | {
    readonly kind: "differs";
    readonly id: DecisionId;
    readonly was: string;
    readonly wasMs: number | null;
    readonly now: string;
    readonly nowMs: number | null;
  }
  /** Too many engines were weighed to keep them all. */
  | { readonly kind: "unreplayable"; readonly id: DecisionId };

const NOWHERE = "nowhere";

/**
 * Make a recorded placement again.
 *
 * @param record The decision as it was written down.
 * @returns Whether the choice is the same.
 */
export function replay(record: DecisionRecord): Replayed {
  const { id, chosen, predictedMs } = record;
  const input = placeInputOf(record);
  if (input === null) return { kind: "unreplayable", id };
  const placement = place(input);
  const first = placement.kind === "placed" ? placement.first : null;
  const now = first === null
    ? NOWHERE
    : nameOf(first.engine.node, first.engine.engine, first.offer.model);
  const was = chosen === null
    ? NOWHERE
    : nameOf(chosen.node, chosen.engine, chosen.model);
  if (was === now) return { kind: "same", id, chosen: was };
  const nowMs = first?.estimate.estimateMs ?? null;
  return { kind: "differs", id, was, wasMs: predictedMs, now, nowMs };
}

/**
 * Read decision records.
 *
 * @param text One JSON object a line; empty lines are passed over.
 * @returns The records.
 * @throws {TypeError} When a line is no decision record; its number is in the message.
 */
export function readRecords(text: string): readonly DecisionRecord[] {
  const records: DecisionRecord[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const value = JSON.parse(line);
    if (
      typeof value?.id !== "string" || typeof value.seed !== "number" ||
      !Array.isArray(value.candidates)
    ) {
      throw new TypeError(`Line ${at + 1} is no decision record`);
    }
    records.push(value);
  }
  return records;
}

function nameOf(node: string, engine: string, model: string): string {
  return `${node}/${engine}/${model}`;
}
