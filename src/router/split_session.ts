import { Fault, type InferenceRequest, sourceOf } from "../domain/mod.ts";
import type { SessionAnswer } from "./session_answer.ts";
import { isCompletePart, joinParts, type PartAnswer } from "./split_answer.ts";
import { partOf } from "./split_inputs.ts";
import type { PlannedPart, SplitPlan } from "./split_plan.ts";
import { collectBody, parseWhole, streamOf } from "./whole_answer.ts";

/** A part on its way: which inputs, and whom to ask. */
export interface RunPart {
  readonly from: number;
  readonly count: number;
  /** Key of the engine to ask first, or null for the best. */
  readonly prefer: string | null;
  /** Keys of engines that answered it wrongly. */
  readonly avoid: readonly string[];
  /** Attempts of the decision that were numbered for other parts before. */
  readonly numberFrom: number;
}

/** Sends one part out; the session is its owner's. */
export type SendPart = (
  request: InferenceRequest,
  part: RunPart,
  signal: AbortSignal,
) => Promise<SessionAnswer>;

/** Numbers of attempts that each part has for itself. */
const NUMBERS_OF_A_PART = 16;
const TRIES = 2;

/**
 * Answer a request by its parts. Each part fails over for itself; when one
 * cannot be answered at all, the others are stopped.
 *
 * @param request The whole request.
 * @param plan How its inputs are divided.
 * @param send Sends a part out.
 * @param client Aborted when the client leaves.
 * @returns One answer in the order of the inputs, or an engine's own refusal of a part.
 * @throws {Fault} When a part could not be answered.
 */
export async function answerSplit(
  request: InferenceRequest,
  plan: SplitPlan,
  send: SendPart,
  client: AbortSignal,
): Promise<SessionAnswer> {
  const stop = new AbortController();
  const signal = AbortSignal.any([client, stop.signal]);
  try {
    const answers = await Promise.all(
      plan.parts.map((part, index) =>
        answerPart(request, part, index, send, signal)
      ),
    );
    const [first] = answers;
    if (first === undefined) throw new Fault("internal", "Covey lost a part");
    const joined = joinParts(answers.map(({ part }) => part));
    const bytes = new TextEncoder().encode(JSON.stringify(joined));
    const pieces = [bytes];
    return { ...first.head, body: streamOf(pieces), pieces };
  } catch (thrown) {
    stop.abort("Another part of the request failed");
    if (thrown instanceof PartRefused) return thrown.head;
    throw thrown;
  }
}

/** An engine's own refusal of a part is the answer to the whole. */
class PartRefused extends Error {
  readonly head: SessionAnswer;

  constructor(head: SessionAnswer) {
    super("An engine refused a part of the request");
    this.head = head;
  }
}

async function answerPart(
  request: InferenceRequest,
  planned: PlannedPart,
  index: number,
  send: SendPart,
  signal: AbortSignal,
): Promise<{ readonly head: SessionAnswer; readonly part: PartAnswer }> {
  const { from, count } = planned;
  const avoid: string[] = [];
  for (let one = 0; one < TRIES; one++) {
    const head = await send(partOf(request, planned), {
      from,
      count,
      prefer: one === 0 ? planned.candidate.engine.key : null,
      avoid,
      numberFrom: (index * TRIES + one) * NUMBERS_OF_A_PART,
    }, signal);
    if (head.status >= 400) throw new PartRefused(head);
    const answer = parseWhole(
      head.pieces ?? await collectBody(sourceOf(head.body), signal),
    );
    if (answer !== undefined && isCompletePart(answer, count)) {
      return { head, part: { from, count, answer } };
    }
    avoid.push(head.begun.candidate.engine.key);
  }
  throw new Fault(
    "engine_failed",
    `The engines gave no usable answer to inputs ${from} to ${
      from + count - 1
    }`,
    { origin: "engine" },
  );
}
