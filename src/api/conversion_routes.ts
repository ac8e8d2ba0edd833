import type { ConversionRequest, ConversionView } from "../domain/mod.ts";
import { readAdminBody } from "./admin_json.ts";
import type { ApiOptions } from "./context.ts";
import { progressResponse } from "./progress_lines.ts";
import { createProgressTeller } from "./progress_teller.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/**
 * The route by which an operator has a model made of another one. It wants the
 * scope `admin`. A client that leaves ends the work.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes; none where nothing can be converted.
 */
export function createConversionRoutes(
  options: Pick<ApiOptions, "clock" | "conversions" | "log">,
): readonly Route<RouteTarget>[] {
  const { clock, conversions, log } = options;
  if (conversions === undefined) return [];
  return [{
    method: "POST",
    pattern: "/covey/models/convert",
    target: {
      scope: "admin",
      async handle({ request, signal }) {
        const body = await readAdminBody(request, clock);
        const { CONVERSION_BODY } = await import("./admin_bodies.ts");
        const { as, model, to } = CONVERSION_BODY.read(body);
        const wanted: ConversionRequest = {
          model,
          to,
          ...as === undefined ? {} : { name: as },
        };
        return progressResponse(
          async (tell, ends) => {
            using teller = createProgressTeller<ConversionView>(
              clock,
              (view) => tell({ status: view.stage, ...view }),
              (view, last) => view.stage !== last?.stage,
            );
            const { derivation, ...made } = await conversions.convert(
              wanted,
              teller.say,
              ends,
            );
            return { status: "success", ...made, ...derivation };
          },
          signal,
          log,
        );
      },
    },
  }];
}
