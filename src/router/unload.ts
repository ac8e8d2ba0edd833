import {
  type Attempt,
  attemptIdOf,
  type DecisionId,
  type Engine,
  Fault,
  isJsonObject,
  type JsonValue,
  type NodeId,
  type Offer,
  type Source,
  type UnloadOutcome,
} from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { eachNamed } from "./asked_offers.ts";
import { isAllowedBy } from "./fitness.ts";
import type { ModelName } from "./model_name.ts";

/** Letting go takes as long as a process takes to end. */
const LONGEST_MS = 20_000;
const LONGEST_ANSWER_BYTES = 4_096;

/** What is to be unloaded. */
export interface UnloadOrder {
  readonly name: ModelName;
  readonly source: Source;
  /** Whether a pin ends too. */
  readonly evenPinned: boolean;
}

/** What it takes to ask for it. */
export interface UnloadContext {
  readonly self: NodeId;
  readonly clock: Clock;
  readonly engines: readonly Engine[];
  /** Draws the name of a decision that nobody records. */
  newId(): DecisionId;
}

/**
 * Ask every engine that has a model in memory, or failed to load it, to let go
 * of it. It goes to peers as an attempt like any other.
 *
 * @param context Whom to ask.
 * @param order What to let go of.
 * @param signal Aborting it ends the wait.
 * @returns What came of it, engine by engine; none where the model is in no memory.
 * @throws {Fault} `model_not_found` where nobody in reach has it at all, `not_found` where a node is named that nobody is.
 */
export async function unloadModel(
  context: UnloadContext,
  order: UnloadOrder,
  signal: AbortSignal,
): Promise<readonly UnloadOutcome[]> {
  const { name, source } = order;
  const found: { readonly engine: Engine; readonly offer: Offer }[] = [];
  const reached = context.engines.filter((engine) =>
    isAllowedBy(source, engine, context.self)
  );
  for (const engine of reached) {
    eachNamed(name, { view: engine.view() }, (tier, offer) => {
      // A fallback's model is another model.
      if (tier === 0) found.push({ engine, offer });
    });
  }
  if (found.length === 0) throw nobodyHas(order, reached);
  return await Promise.all(
    found.filter(({ offer }) => offer.state.kind !== "cold")
      .map(({ engine, offer }) => ask(context, order, engine, offer, signal)),
  );
}

function nobodyHas(
  { name: { asked }, source }: UnloadOrder,
  [first]: readonly Engine[],
): Fault {
  if (source.kind === "node" && first === undefined) {
    return new Fault(
      "not_found",
      `No member with engines is called "${source.node}"; GET /cluster/members lists them`,
      { param: "node" },
    );
  }
  const where = source.kind === "node" ? `on "${first?.nodeName}"` : "here";
  return new Fault(
    "model_not_found",
    `The model "${asked}" does not exist ${where}; /v1/models and /api/tags list those that do`,
    { param: "model" },
  );
}

async function ask(
  { clock, newId, self }: UnloadContext,
  { evenPinned, source }: UnloadOrder,
  engine: Engine,
  { capabilities, model }: Offer,
  signal: AbortSignal,
): Promise<UnloadOutcome> {
  const attempt: Attempt = {
    id: attemptIdOf(newId(), 1),
    entry: self,
    // It enters no queue, so that there is nothing to keep count of.
    dispatch: 1,
    model,
    expectedOutputTokens: 0,
    predictedMs: 0,
    request: {
      capability: capabilities[0] ?? "chat",
      model,
      source,
      stream: false,
      includeUsage: false,
      body: { model, messages: [] },
      promptTokens: 0,
      maxOutputTokens: 1,
      inputCount: 1,
      needs: [],
      conversation: null,
      client: "unload",
      upkeep: { only: "unload", evenPinned },
    },
  };
  using deadline = clock.deadline(LONGEST_MS, signal);
  const outcome = (unloaded: boolean, reason: string | null) => ({
    node: engine.node,
    nodeName: engine.nodeName,
    engine: engine.id,
    model,
    unloaded,
    reason,
  });
  try {
    const started = await engine.start(attempt, deadline.signal);
    if (started.kind === "refused") return outcome(false, started.message);
    const answer = await started.answer();
    const said = await read(answer.body);
    if (isJsonObject(said) && typeof said["unloaded"] === "boolean") {
      const { reason } = said;
      return outcome(
        said["unloaded"],
        typeof reason === "string" ? reason : null,
      );
    }
    return outcome(false, "This engine unloads nothing when asked");
  } catch (thrown) {
    signal.throwIfAborted();
    return outcome(
      false,
      thrown instanceof Fault ? thrown.message : "It did not answer",
    );
  }
}

async function read(
  body: ReadableStream<Uint8Array>,
): Promise<JsonValue | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of body) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > LONGEST_ANSWER_BYTES) return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    // An engine that knows nothing of this answers in words of its own.
    return undefined;
  }
}
