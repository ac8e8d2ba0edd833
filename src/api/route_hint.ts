import { nearestName } from "../domain/mod.ts";

/**
 * Say which route a wrong path was probably meant to be: base URLs with a `/v1`
 * or a prefix too many or too few are the commonest mistake, misspelt words the
 * next.
 *
 * @param path What was asked for, without query.
 * @param patterns All routes.
 * @returns The end of a message, with its semicolon.
 */
export function routeHint(path: string, patterns: Iterable<string>): string {
  const known = new Set([...patterns].filter((one) => !one.includes("{")));
  const parts = path.split("/").filter((part) => part !== "");
  const tails = parts.map((_, at) => `/${parts.slice(at).join("/")}`);
  const meant = [...tails, ...tails.map((tail) => `/v1${tail}`)]
    .find((one) => one !== path && known.has(one)) ??
    nearestName(path, known);
  return meant === undefined || meant === "/"
    ? "; GET /openapi.json lists those there are"
    : `; did you mean ${meant}?`;
}
