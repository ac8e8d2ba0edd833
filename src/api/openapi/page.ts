import { isJsonObject, type JsonObject } from "../../domain/mod.ts";

/**
 * Show a description as a page that needs no script and nothing from elsewhere.
 *
 * @param document An OpenAPI document.
 * @returns HTML.
 */
export function openApiPage(document: JsonObject): string {
  const rows: string[] = [];
  const paths = isJsonObject(document.paths) ? document.paths : {};
  for (const [path, item] of Object.entries(paths)) {
    if (!isJsonObject(item)) continue;
    for (const [method, operation] of Object.entries(item)) {
      if (isJsonObject(operation)) rows.push(rowOf(method, path, operation));
    }
  }
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Covey's API</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
code { font-weight: 600 }
pre { overflow: auto; max-height: 30rem; padding: 1rem; border: 1px solid }
details { border-top: 1px solid; padding: .5rem 0 }
</style>
<h1>Covey's API</h1>
<p>The same for programs: <a href="/openapi.json">/openapi.json</a></p>
${rows.join("\n")}
</html>
`;
}

function rowOf(method: string, path: string, operation: JsonObject): string {
  const head = `<code>${method.toUpperCase()} ${escaped(path)}</code> ${
    escaped(String(operation.summary ?? ""))
  }`;
  const text = JSON.stringify(operation.requestBody ?? operation, null, 2);
  return `<details><summary>${head}</summary><p>${
    escaped(String(operation.description ?? ""))
  }</p><pre tabindex="0">${escaped(text)}</pre></details>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
