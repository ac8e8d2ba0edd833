import type { HeadFields } from "./head_fields.ts";

/** How long a browser may remember a preflight's answer. */
const PREFLIGHT_SECONDS = "600";

/** What a page may read of an answer beside its body. */
const EXPOSED =
  "x-covey-node, x-covey-decision, x-covey-predicted-ms, x-covey-predicted-p80-ms, x-covey-model, retry-after";

/**
 * Answer a browser's question whether it may call.
 *
 * @param fields Head of the `OPTIONS` request.
 * @param origin The origin, already found to be allowed.
 * @returns The answer, without the headers of `allowOrigin`.
 */
export function preflightResponse(
  fields: HeadFields,
  origin: string,
): Response {
  const asked = fields.get("access-control-request-headers");
  // Some browsers ask apart whether a public page may reach into this network.
  const isPrivate = fields.get("access-control-request-private-network");
  const response = new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-max-age": PREFLIGHT_SECONDS,
      ...(asked === undefined ? {} : { "access-control-allow-headers": asked }),
      ...(isPrivate === "true"
        ? { "access-control-allow-private-network": "true" }
        : {}),
    },
  });
  allowOrigin(response, origin);
  return response;
}

/**
 * Let an allowed page read an answer.
 *
 * @param response The answer, whose headers are added to.
 * @param origin The page's origin.
 */
export function allowOrigin(response: Response, origin: string): void {
  response.headers.set("access-control-allow-origin", origin);
  response.headers.set("access-control-expose-headers", EXPOSED);
  response.headers.append("vary", "origin");
}
