import type { ApiOptions } from "../context.ts";
import type { Route } from "../route_table.ts";
import type { RouteTarget } from "../route_target.ts";

/**
 * The routes that describe all routes.
 *
 * @param routes All others.
 * @param options Who describes what the cluster code reads.
 * @returns Rows of the table.
 */
export function createOpenApiRoutes(
  routes: readonly Route<RouteTarget>[],
  { describeActions }: Pick<ApiOptions, "describeActions">,
): readonly Route<RouteTarget>[] {
  const described: Route<RouteTarget>[] = [...routes];
  const load = async () => {
    const { openApiDocument } = await import("./document.ts");
    return openApiDocument(described, await describeActions?.());
  };
  const answer = (body: string, contentType: string) =>
    new Response(body, {
      headers: {
        "content-type": contentType,
        "cache-control": "no-store",
        "content-security-policy":
          "default-src 'none'; style-src 'unsafe-inline'",
      },
    });
  const own: readonly Route<RouteTarget>[] = [
    {
      method: "GET",
      pattern: "/openapi.json",
      target: {
        scope: "read",
        handle: async () =>
          answer(JSON.stringify(await load()), "application/json"),
      },
    },
    {
      method: "GET",
      pattern: "/openapi",
      target: {
        scope: "read",
        handle: async () => {
          const { openApiPage } = await import("./page.ts");
          return answer(
            openApiPage(await load()),
            "text/html; charset=utf-8",
          );
        },
      },
    },
  ];
  described.push(...own);
  return own;
}
