import { checkContentType, jsonResponse } from "./admin_json.ts";
import { type BodyBounds, readBody } from "./body.ts";
import type { ApiOptions } from "./context.ts";
import { parseJsonObject } from "./json_body.ts";
import { progressResponse } from "./progress_lines.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/** Room for a name. */
const BOUNDS: BodyBounds = {
  limitBytes: 16 * 1024,
  idleMs: 10_000,
  totalMs: 20_000,
};
/** Progress is told that often, however many pieces arrive. */
const TELL_EVERY_MS = 250;

/**
 * The routes about engine packs: which there are and who has them, and having
 * one of a member.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes; none where no packs are kept.
 */
export function createPackRoutes(
  { clock, log, packs }: Pick<ApiOptions, "clock" | "log" | "packs">,
): readonly Route<RouteTarget>[] {
  if (packs === undefined) return [];
  return [
    {
      method: "GET",
      pattern: "/covey/packs",
      target: {
        scope: "read",
        handle: async ({ signal }) =>
          jsonResponse({
            packs: (await packs.list(signal)).map((pack) => ({ ...pack })),
          }),
      },
    },
    {
      method: "POST",
      pattern: "/covey/packs/{name}",
      target: {
        scope: "admin",
        async handle({ params, request, signal }) {
          checkContentType(request);
          const { name = "" } = params;
          const body = parseJsonObject(await readBody(request, BOUNDS, clock));
          const { PACK_BODY } = await import("./admin_bodies.ts");
          const { from = null } = PACK_BODY.read(body);
          return progressResponse(
            async (tell, ends) => {
              let toldMs = -Infinity;
              const added = await packs.add(
                name,
                from,
                (doneBytes, totalBytes, member) => {
                  if (clock.monotonic() - toldMs < TELL_EVERY_MS) return;
                  toldMs = clock.monotonic();
                  tell({ status: "fetching", doneBytes, totalBytes, member });
                },
                ends,
              );
              return { status: "success", ...added.pack, from: added.from };
            },
            signal,
            log,
          );
        },
      },
    },
  ];
}
