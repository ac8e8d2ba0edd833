import { readAdminBody } from "./admin_json.ts";
import type { ApiOptions } from "./context.ts";
import { progressResponse } from "./progress_lines.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/** Where files must be copied it takes long, and a client is to know that it goes on. */
const TELL_EVERY_MS = 10_000;

/**
 * The route by which an operator has models of other programs taken over. It
 * wants the scope `admin`.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes; none where nothing can be taken over.
 */
export function createImportRoutes(
  options: Pick<ApiOptions, "clock" | "imports" | "log">,
): readonly Route<RouteTarget>[] {
  const { clock, imports, log } = options;
  if (imports === undefined) return [];
  return [{
    method: "POST",
    pattern: "/covey/imports",
    target: {
      scope: "admin",
      async handle({ request, signal }) {
        const body = await readAdminBody(request, clock);
        const { IMPORT_BODY } = await import("./admin_bodies.ts");
        const { folder } = IMPORT_BODY.read(body);
        return progressResponse(
          async (tell, ends) => {
            using _beat = clock.every(
              TELL_EVERY_MS,
              () => tell({ status: "importing" }),
            );
            const done = folder === null
              ? await imports.importFound(ends)
              : await imports.importFolder(folder, ends);
            return {
              status: "success",
              imported: done.imported.map((one) => ({ ...one })),
              skipped: done.skipped.map((one) => ({ ...one })),
              ...done.programs === undefined
                ? {}
                : { programs: [...done.programs] },
            };
          },
          signal,
          log,
        );
      },
    },
  }];
}
