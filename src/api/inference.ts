import { Fault, type JsonObject } from "../domain/mod.ts";
import { boundsOf } from "./body_handler.ts";
import type { ApiOptions, Handler } from "./context.ts";
import type { InferenceReader } from "./inference_reader.ts";
import { readJsonObject } from "./json_body.ts";
import { parseContinue, parseConversation } from "./openai/envelope.ts";
import { pinSource, settleSource } from "./request_source.ts";

/** Reads a request's body as one object. */
export type ObjectReader = (
  ...args: Required<Parameters<typeof readJsonObject>>
) => Promise<JsonObject>;

/**
 * Make the handler of an inference route: read the body, parse it once, let
 * the router place and run it, and pass the answer on.
 *
 * @param options What the API is built from.
 * @param load Loads what reads this route's body, at the first request: the
 * schemas' library costs a node that only waits 9 MB.
 * @param readObject Reads the body as an object, from JSON unless told otherwise.
 * @returns The handler.
 */
export function createInferenceHandler(
  options: Pick<
    ApiOptions,
    | "router"
    | "clock"
    | "members"
    | "bodyLimitBytes"
    | "problemWith"
    | "continueStreams"
  >,
  load: () => Promise<InferenceReader>,
  readObject: ObjectReader = readJsonObject,
): Handler {
  const { router, clock } = options;
  const bounds = boundsOf(options);
  let read: InferenceReader | null = null;
  return async (call) => {
    const { client, fields, prefix, request, signal } = call;
    const startMs = clock.monotonic();
    const body = await readObject(request, bounds, clock, fields);
    const said = settleSource({
      body: body.source,
      header: fields.get("x-covey-source"),
      prefix,
    });
    // What is in the table has to be gathered, and only a name is looked up in it.
    const source = said.kind === "node"
      ? pinSource(said, options.members())
      : said;
    const conversation = parseConversation(
      fields.get("x-covey-conversation"),
    );
    // An import that was made before still costs a turn through the loader.
    read ??= await load();
    const { asked, answer } = read(body, {
      source,
      conversation,
      client,
      ...parseContinue(
        fields.get("x-covey-continue"),
        options.continueStreams ?? false,
      ),
    });
    const routed = await router.route(asked, signal)
      .catch((thrown) => {
        throw explain(thrown, asked.model, options);
      });
    return await answer(routed, {
      nowMs: clock.now(),
      elapsedMs: () => clock.monotonic() - startMs,
    });
  };
}

/** A model that is missing because its file is broken: say so, with the remedy. */
function explain(
  thrown: unknown,
  model: string,
  { problemWith }: Pick<ApiOptions, "problemWith">,
): unknown {
  if (!(thrown instanceof Fault && thrown.code === "model_not_found")) {
    return thrown;
  }
  const problem = problemWith?.(model) ?? null;
  return problem === null ? thrown : new Fault(
    "model_not_found",
    `The model "${model}" cannot be used: ${problem}`,
    {
      param: "model",
      cause: thrown,
      ...(thrown.decision === null ? {} : { decision: thrown.decision }),
    },
  );
}
