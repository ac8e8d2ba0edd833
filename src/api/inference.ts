import { Fault } from "../domain/mod.ts";
import { BODY_BOUNDS, type BodyBounds } from "./body.ts";
import type { ApiOptions, Handler } from "./context.ts";
import { readJsonObject } from "./json_body.ts";
import { respondWith } from "./openai/answer.ts";
import {
  parseContinue,
  parseConversation,
  type RequestParser,
} from "./openai/envelope.ts";
import { pinSource, settleSource } from "./request_source.ts";

/**
 * Make the handler of an inference route: read the body, parse it once, let
 * the router place and run it, and pass the answer on.
 *
 * @param options What the API is built from.
 * @param load Loads what reads this route's body, at the first request: the
 * schemas' library costs a node that only waits 9 MB.
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
  load: () => Promise<RequestParser>,
): Handler {
  const { router, clock } = options;
  const bounds: BodyBounds = {
    ...BODY_BOUNDS,
    limitBytes: options.bodyLimitBytes ?? BODY_BOUNDS.limitBytes,
  };
  return async ({ request, signal, prefix, client }) => {
    const body = await readJsonObject(request, bounds, clock);
    const said = settleSource({
      body: body.source,
      header: request.headers.get("x-covey-source"),
      prefix,
    });
    const source = pinSource(said, options.members());
    const conversation = parseConversation(
      request.headers.get("x-covey-conversation"),
    );
    const parse = await load();
    const asked = parse(body, {
      source,
      conversation,
      client,
      ...parseContinue(
        request.headers.get("x-covey-continue"),
        options.continueStreams ?? false,
      ),
    });
    const routed = await router.route(asked, signal)
      .catch((thrown) => {
        throw explain(thrown, asked.model, options);
      });
    return await respondWith(routed, asked, clock.now());
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
    { param: "model", cause: thrown },
  );
}
