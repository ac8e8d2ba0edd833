import type { JsonObject } from "../domain/mod.ts";
import { BODY_BOUNDS, type BodyBounds } from "./body.ts";
import type { ApiOptions, Handler } from "./context.ts";
import { readJsonObject } from "./json_body.ts";

/**
 * The bounds on request bodies.
 *
 * @param options What the API is built from.
 */
export function boundsOf(
  { bodyLimitBytes }: Pick<ApiOptions, "bodyLimitBytes">,
): BodyBounds {
  return {
    ...BODY_BOUNDS,
    limitBytes: bodyLimitBytes ?? BODY_BOUNDS.limitBytes,
  };
}

/**
 * Make the handler of a route that turns one JSON object into another and asks no engine.
 *
 * @param options What the API is built from.
 * @param load Loads what answers, at the first request.
 * @returns The handler.
 */
export function createBodyHandler(
  options: Pick<ApiOptions, "bodyLimitBytes" | "clock">,
  load: () => Promise<(body: JsonObject) => JsonObject>,
): Handler {
  return async ({ request, fields }) => {
    const body = await readJsonObject(
      request,
      boundsOf(options),
      options.clock,
      fields,
    );
    const answer = (await load())(body);
    return new Response(JSON.stringify(answer), {
      headers: {
        "content-type": "application/json",
        "cache-control": "no-store",
      },
    });
  };
}
