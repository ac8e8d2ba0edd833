import { jsonResponse, readAdminBody } from "./admin_json.ts";
import type { ApiOptions } from "./context.ts";
import { progressResponse } from "./progress_lines.ts";
import { createProgressTeller } from "./progress_teller.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/** How far a pack has come, and from which member. */
interface PackProgress {
  readonly doneBytes: number;
  readonly totalBytes: number;
  readonly member: string;
}

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
          const { name = "" } = params;
          const body = await readAdminBody(request, clock);
          const { PACK_BODY } = await import("./admin_bodies.ts");
          const { from = null } = PACK_BODY.read(body);
          return progressResponse(
            async (tell, ends) => {
              using teller = createProgressTeller<PackProgress>(
                clock,
                (view) => tell({ status: "fetching", ...view }),
                (view, last) => view.member !== last?.member,
              );
              const added = await packs.add(
                name,
                from,
                (doneBytes, totalBytes, member) =>
                  teller.say({ doneBytes, totalBytes, member }),
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
