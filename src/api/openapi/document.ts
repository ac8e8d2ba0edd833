import type { ClusterAction, JsonObject } from "../../domain/mod.ts";
import type { Route } from "../route_table.ts";
import type { RouteTarget } from "../route_target.ts";
import { OPERATION_NOTES, type OperationNote } from "./operations.ts";

/** A row of the table of routes, as far as it is described. */
export type DescribedRoute = Pick<Route<unknown>, "method" | "pattern"> & {
  readonly target: Pick<RouteTarget, "scope">;
};

/** JSON schemas of the bodies that actions take, of those that take one. */
export type ActionBodies = { readonly [Action in ClusterAction]?: JsonObject };

/**
 * Describe the API: every route of the table, with the schemas that its
 * parsers use. Rows for what is not built (method `*`) are left out.
 *
 * @param routes The table of routes.
 * @param actions What the cluster code says of its actions' bodies; nothing in a build without.
 * @returns An OpenAPI 3.1 document.
 */
export function openApiDocument(
  routes: readonly DescribedRoute[],
  actions: ActionBodies = {},
): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const route of routes) {
    if (route.method === "*") continue;
    const path = route.pattern.replaceAll("…}", "}");
    const item = paths[path] ??= {};
    item[route.method.toLowerCase()] ??= operationOf(route, path, actions);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Covey",
      version: "1",
      description:
        "One node of a Covey. The prefixes /cluster and /node/{id} before /v1/ or /api/ say where a request may run.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }, {}],
    paths,
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer" } },
      responses: {
        Refused: {
          description:
            "What is wrong, in the error shape of the path's dialect",
          content: { "application/json": { schema: { type: "object" } } },
        },
      },
    },
  };
}

function operationOf(
  { method, pattern, target }: DescribedRoute,
  path: string,
  actions: ActionBodies,
): JsonObject {
  const note: OperationNote = OPERATION_NOTES[`${method} ${pattern}`] ??
    { summary: `${method} ${path}` };
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  return {
    operationId: `${method.toLowerCase()}${path}`
      .replace(/[^A-Za-z0-9]+/g, "_").replace(/_$/, ""),
    summary: note.summary,
    description: target.scope === "open"
      ? "Open to anyone."
      : `Needs the scope "${target.scope}".`,
    ...(target.scope === "open" ? { security: [] } : {}),
    ...(names.length === 0 ? {} : {
      parameters: names.map((name) => ({
        name,
        in: "path",
        required: true,
        schema: { type: "string" },
      })),
    }),
    ...(method === "POST" ? { requestBody: bodyOf(note, actions) } : {}),
    responses: {
      200: {
        description: "The answer",
        content: contentOf(path, note),
      },
      "4XX": { $ref: "#/components/responses/Refused" },
      "5XX": { $ref: "#/components/responses/Refused" },
    },
  };
}

function bodyOf(
  { action, body, isForm }: OperationNote,
  actions: ActionBodies,
): JsonObject {
  const schema = action === undefined ? body?.() : actions[action];
  return {
    required: schema !== undefined,
    content: {
      [isForm ? "multipart/form-data" : "application/json"]: {
        schema: schema ?? { type: "object" },
      },
    },
  };
}

const TEXT = new Set(["/metrics", "/"]);

function contentOf(
  path: string,
  { answers, streams }: OperationNote,
): JsonObject {
  if (answers !== undefined) {
    return { [answers]: { schema: { type: "string", format: "binary" } } };
  }
  if (path === "/openapi") return { "text/html": {} };
  if (TEXT.has(path)) return { "text/plain": {} };
  return {
    "application/json": { schema: { type: "object" } },
    ...(streams === undefined
      ? {}
      : { [streams]: { schema: { type: "string" } } }),
  };
}
