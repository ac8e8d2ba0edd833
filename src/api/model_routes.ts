import type { JsonObject, ModelCare, ModelInventory } from "../domain/mod.ts";
import { checkContentType, jsonResponse, readAdminBody } from "./admin_json.ts";
import type { ApiOptions } from "./context.ts";
import { progressResponse } from "./progress_lines.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/** Progress is told at most once in that many bytes. */
const TELL_EVERY_BYTES = 64 * 1024 * 1024;

/**
 * The routes by which an operator cares for the models that lie here. They want
 * the scope `admin`.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes; none where there is no models folder.
 */
export function createModelRoutes(
  options: Pick<ApiOptions, "models" | "clock" | "log">,
): readonly Route<RouteTarget>[] {
  const { models, clock, log } = options;
  if (models === undefined) return [];
  return [
    {
      method: "POST",
      pattern: "/covey/models/verify",
      target: {
        scope: "admin",
        async handle({ request, signal }) {
          const body = await readAdminBody(request, clock, {
            mayBeEmpty: true,
          });
          const { VERIFY_BODY } = await import("./admin_bodies.ts");
          const { model } = VERIFY_BODY.read(body);
          const names = model === undefined
            ? models.list().map(({ name }) => name)
            : [model];
          return progressResponse(
            async (tell, ends) => ({
              ...await verifyAll(models, names, tell, ends),
              // Of one model nobody knows which partial files are its own.
              ...model === undefined && models.partials !== undefined
                ? {
                  partial: (await models.partials()).map((one) => ({ ...one })),
                }
                : {},
              ...model === undefined
                ? { invalid: models.invalid().map((one) => ({ ...one })) }
                : {},
            }),
            signal,
            log,
          );
        },
      },
    },
    {
      method: "DELETE",
      pattern: "/covey/models/{model…}",
      target: {
        scope: "admin",
        async handle({ params, request }) {
          checkContentType(request);
          const { model = "" } = params;
          await models.remove(model);
          return jsonResponse({ removed: model });
        },
      },
    },
  ];
}

async function verifyAll(
  models: ModelCare & ModelInventory,
  names: readonly string[],
  tell: (line: JsonObject) => void,
  signal: AbortSignal,
): Promise<JsonObject> {
  const results: JsonObject[] = [];
  for (const model of names) {
    const totalBytes = models.list().find(({ name }) => name === model)
      ?.sizeBytes ?? 0;
    let toldBytes = -TELL_EVERY_BYTES;
    const progress = (doneBytes: number) => {
      if (doneBytes - toldBytes < TELL_EVERY_BYTES) return;
      toldBytes = doneBytes;
      tell({ status: "verifying", model, doneBytes, totalBytes });
    };
    const check = await models.verify(model, progress, signal);
    switch (check.kind) {
      case "sound":
        results.push({ model, sound: true, files: [] });
        break;
      case "damaged":
        results.push({
          model,
          sound: false,
          files: check.files.map((file) => ({ ...file })),
        });
        break;
      default: {
        const never: never = check;
        return never;
      }
    }
  }
  return {
    status: "verified",
    sound: results.every(({ sound }) => sound === true),
    models: results,
  };
}
