import { Fault } from "../domain/mod.ts";
import type { ClientKeys } from "../store/client_keys.ts";
import type { ApiOptions, Handler } from "./context.ts";
import { checkContentType, jsonResponse, readAdminBody } from "./admin_json.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";

/**
 * The routes by which an operator gives and takes clients' keys. All of them
 * want the scope `admin`: even a list of names is nobody else's business.
 *
 * @param options What the API is built from.
 * @returns Rows for the table of routes; none where no keys are kept.
 */
export function createKeyRoutes(
  options: Pick<ApiOptions, "clientKeys" | "clock">,
): readonly Route<RouteTarget>[] {
  const { clientKeys: keys, clock } = options;
  if (keys === undefined) return [];
  const admin = (
    method: string,
    pattern: string,
    handle: Handler,
  ): Route<RouteTarget> => ({
    method,
    pattern,
    target: { scope: "admin", handle },
  });
  return [
    admin("GET", "/covey/keys", () => jsonResponse({ keys: shown(keys) })),
    admin("POST", "/covey/keys", async ({ request }) => {
      const body = await readAdminBody(request, clock);
      const { KEY_BODY } = await import("./admin_bodies.ts");
      const { name, admin } = KEY_BODY.read(body);
      const key = await refused(() => keys.add(name, admin));
      return jsonResponse({ name, admin, key });
    }),
    admin("DELETE", "/covey/keys/{name}", async ({ params, request }) => {
      checkContentType(request);
      const { name = "" } = params;
      if (await refused(() => keys.revoke(name))) {
        return jsonResponse({ revoked: name });
      }
      throw new Fault("not_found", `There is no key "${name.slice(0, 80)}"`);
    }),
  ];
}

function shown(keys: ClientKeys): unknown {
  return keys.list().map(({ name, admin, createdAtMs }) => ({
    name,
    admin,
    createdAtMs,
  }));
}

/** A name that can not be had is the caller's fault and no secret. */
async function refused<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Error && error.name === "ClientKeysError") {
      throw new Fault("invalid_request", error.message, {
        param: "name",
        cause: error,
      });
    }
    // Whoever asks learns what to do, and no path.
    if (error instanceof Error && error.name === "FileError") {
      throw new Fault(
        "storage_failed",
        "Failed to keep the keys: the data folder can not be written; make room on its disk, or let this node's user write there",
        { cause: error },
      );
    }
    throw error;
  }
}
