import { Fault } from "../domain/mod.ts";
import { createClusterRoutes } from "./cluster_routes.ts";
import type { ApiOptions, Handler } from "./context.ts";
import { createConversionRoutes } from "./conversion_routes.ts";
import { createDialectRoutes } from "./dialect_routes.ts";
import type { Dialect } from "./errors.ts";
import { createFleetRoutes } from "./fleet/fleet_routes.ts";
import { createInferenceHandler } from "./inference.ts";
import { inOpenAi } from "./inference_reader.ts";
import { createImportRoutes } from "./import_routes.ts";
import { createKeyRoutes } from "./key_routes.ts";
import { createMemoryRoutes } from "./memory_routes.ts";
import { createModelRoutes } from "./model_routes.ts";
import { createPackRoutes } from "./pack_routes.ts";
import { createPullRoutes } from "./pull_routes.ts";
import { createOpenApiRoutes } from "./openapi/openapi_routes.ts";
import type { Route } from "./route_table.ts";
import type { RouteTarget } from "./route_target.ts";
import { createStatusHandlers } from "./status.ts";

/** Paths that a dialect has and Covey does not, by the pattern they are counted under. */
const NOT_BUILT: readonly string[] = [
  "/v1/responses/{rest…}",
  "/v1/consensus",
  "/v1/audio/{rest…}",
  "/v1/images/{rest…}",
  "/v1/files",
  "/v1/files/{rest…}",
  "/v1/batches",
  "/v1/batches/{rest…}",
  "/v1/uploads",
  "/v1/uploads/{rest…}",
  "/v1/moderations",
  "/v1/fine_tuning/{rest…}",
  "/v1/vector_stores",
  "/v1/vector_stores/{rest…}",
  "/v1/assistants",
  "/v1/assistants/{rest…}",
  "/v1/threads",
  "/v1/threads/{rest…}",
  "/v1/conversations",
  "/v1/conversations/{rest…}",
  "/v1/realtime",
  "/v1/realtime/{rest…}",
  "/v1/messages/{rest…}",
  "/api/push",
  "/api/create",
  "/api/blobs/{rest…}",
];

/**
 * The one table of what this node answers.
 *
 * @param options What the API is built from.
 * @returns Rows, in the order in which they are tried.
 */
export function createRoutes(
  options: ApiOptions,
): readonly Route<RouteTarget>[] {
  const status = createStatusHandlers(options);
  const get = (
    pattern: string,
    scope: RouteTarget["scope"],
    handle: Handler,
  ): Route<RouteTarget> => ({
    method: "GET",
    pattern,
    target: { scope, handle },
  });
  const infer = (
    pattern: string,
    load: Parameters<typeof createInferenceHandler>[1],
  ): Route<RouteTarget> => ({
    method: "POST",
    pattern,
    target: { scope: "infer", handle: createInferenceHandler(options, load) },
  });
  const built: readonly Route<RouteTarget>[] = [
    infer(
      "/v1/chat/completions",
      async () => inOpenAi((await import("./openai/chat.ts")).parseChat),
    ),
    infer(
      "/v1/completions",
      async () =>
        inOpenAi((await import("./openai/completion.ts")).parseCompletion),
    ),
    infer(
      "/v1/embeddings",
      async () =>
        inOpenAi((await import("./openai/embedding.ts")).parseEmbedding),
    ),
    ...createDialectRoutes(options),
    get("/v1/models", "read", status.models),
    get("/v1/models/{id…}", "read", status.model),
    get("/healthz", "open", status.alive),
    get("/readyz", "open", status.ready),
    get("/metrics", "read", status.metrics),
    get("/cluster/members", "read", status.members),
    ...createClusterRoutes(options),
    ...createFleetRoutes(options),
    ...createKeyRoutes(options),
    ...createMemoryRoutes(options),
    ...createModelRoutes(options),
    ...createConversionRoutes(options),
    ...createPackRoutes(options),
    ...createPullRoutes(options),
    ...createImportRoutes(options),
    get("/covey/decisions", "read", status.decisions),
    get("/covey/decisions/{id}", "read", status.decision),
    get("/", "read", status.root),
  ];
  return [
    ...built,
    ...createOpenApiRoutes(built, options),
    ...NOT_BUILT.map((pattern): Route<RouteTarget> => ({
      method: "*",
      pattern,
      target: { scope: "infer", handle: refuseNotBuilt },
    })),
  ];
}

const refuseNotBuilt: Handler = ({ request }) => {
  throw new Fault(
    "not_implemented",
    `Covey does not implement ${new URL(request.url).pathname.slice(0, 200)}`,
  );
};

/**
 * Tell whose error shape a path speaks.
 *
 * @param path A path without source prefix.
 * @returns The dialect.
 */
export function dialectOf(path: string): Dialect {
  if (isAtOrBelow(path, "/api")) return "ollama";
  return isAtOrBelow(path, "/v1/messages") ? "anthropic" : "openai";
}

function isAtOrBelow(path: string, folder: string): boolean {
  return path.startsWith(folder) &&
    (path.length === folder.length || path[folder.length] === "/");
}
