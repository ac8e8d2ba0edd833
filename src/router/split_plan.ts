import type { Candidate } from "./candidate.ts";

/** A part of a request's inputs, and who should take it. */
export interface PlannedPart {
  readonly candidate: Candidate;
  /** First input of it. */
  readonly from: number;
  readonly count: number;
  readonly tokens: number;
}

/** How a request's inputs are divided. */
export interface SplitPlan {
  readonly parts: readonly [PlannedPart, ...PlannedPart[]];
  /** When the last part is predicted to be over. */
  readonly predictedMs: number;
}

const MOST_PARTS = 16;
/** Predictions closer than this share say nothing. */
const TIE = 1.05;
const LEAST_GAIN_MS = 10;

/** What a candidate takes for some of the inputs: a fixed time, and one for each token. */
interface Line {
  readonly candidate: Candidate;
  readonly fixedMs: number;
  readonly perTokenMs: number;
}

/**
 * Divide inputs over candidates so that all are predicted to end at one time,
 * where that is sooner than the best of them alone. Pure.
 *
 * @param order Eligible candidates, the one that would take all at the front.
 * @param inputTokens Tokens of each input.
 * @returns The plan, or null where dividing does not gain.
 */
export function planSplit(
  order: readonly Candidate[],
  inputTokens: readonly number[],
): SplitPlan | null {
  const [alone] = order;
  const tokens = inputTokens.reduce((sum, one) => sum + one, 0);
  if (alone === undefined || inputTokens.length < 2 || tokens <= 0) return null;
  const lines = onePerDevice(order.filter((one) => joins(one, alone)), tokens)
    .toSorted((a, b) => a.fixedMs - b.fixedMs);
  const { endMs, used } = levelled(lines, tokens);
  const parts = partsOf(used, endMs, inputTokens);
  const [first, ...rest] = parts;
  if (first === undefined || rest.length === 0) return null;
  const predictedMs = Math.max(...parts.map((part) => endOf(part, used)));
  const jitterMs = Math.max(
    ...parts.map(({ candidate }) => candidate.engine.view.hop.jitterMs),
  );
  const gains = predictedMs * TIE + jitterMs + LEAST_GAIN_MS <
    alone.estimate.estimateMs;
  return gains ? { parts: [first, ...rest], predictedMs } : null;
}

/** Vectors or scores of different weights must not stand in one answer. */
function joins(one: Candidate, alone: Candidate): boolean {
  const { root } = alone.offer;
  // Servers of two kinds score the same weights on two scales.
  const isSure = root !== null || !alone.offer.capabilities.includes("rerank");
  return one === alone || (isSure && one.tier === alone.tier &&
    one.offer.root === root && Number.isFinite(one.estimate.estimateMs));
}

function onePerDevice(
  candidates: readonly Candidate[],
  tokens: number,
): readonly Line[] {
  const lines = new Map<string, Line>();
  for (const candidate of candidates) {
    const { engine, offer, estimate } = candidate;
    const device = `${engine.node} ${offer.device}`;
    if (lines.has(device)) continue;
    const { terms, factor, estimateMs } = estimate;
    const prefillMs = terms.prefillMs * factor;
    lines.set(device, {
      candidate,
      fixedMs: Math.max(0, estimateMs - prefillMs),
      perTokenMs: Math.max(prefillMs / tokens, 1e-9),
    });
  }
  return [...lines.values()];
}

/** The earliest common end, and whom it takes: nobody whose fixed time alone is longer. */
function levelled(
  lines: readonly Line[],
  tokens: number,
): { readonly endMs: number; readonly used: readonly Line[] } {
  let speed = 0;
  let head = 0;
  let endMs = Infinity;
  const used: Line[] = [];
  for (const line of lines) {
    if (line.fixedMs >= endMs || used.length >= MOST_PARTS) break;
    used.push(line);
    speed += 1 / line.perTokenMs;
    head += line.fixedMs / line.perTokenMs;
    endMs = (tokens + head) / speed;
  }
  return { endMs, used };
}

/** Neighbouring inputs go together; each part ends as near to its share as whole inputs allow. */
function partsOf(
  lines: readonly Line[],
  endMs: number,
  inputTokens: readonly number[],
): readonly PlannedPart[] {
  const parts: PlannedPart[] = [];
  let at = 0;
  let taken = 0;
  let due = 0;
  for (const [index, { candidate, fixedMs, perTokenMs }] of lines.entries()) {
    due += (endMs - fixedMs) / perTokenMs;
    const isLast = index === lines.length - 1;
    const from = at;
    const before = taken;
    while (at < inputTokens.length) {
      const next = inputTokens[at] ?? 0;
      if (!isLast && taken + next / 2 > due) break;
      taken += next;
      at++;
    }
    if (at === from) continue;
    parts.push({ candidate, from, count: at - from, tokens: taken - before });
  }
  return parts;
}

function endOf(part: PlannedPart, lines: readonly Line[]): number {
  const line = lines.find((one) => one.candidate === part.candidate);
  return line === undefined
    ? Infinity
    : line.fixedMs + part.tokens * line.perTokenMs;
}
