import { Fault } from "../domain/mod.ts";

/**
 * Refuse what a page of another origin could send without being asked for
 * leave first: admin routes take `application/json` alone.
 *
 * @param request The request.
 * @throws {Fault} `unsupported_media_type` for any other type.
 */
export function checkContentType(request: Request): void {
  const header = request.headers.get("content-type");
  // A DELETE needs no body, and no page may send one unasked.
  if (header === null && request.method === "DELETE") return;
  const type = (header ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type === "application/json") return;
  throw new Fault(
    "unsupported_media_type",
    "This route takes a body of content-type application/json alone; send that header, which no strange web page can",
    { param: "content-type" },
  );
}

/**
 * Answer an operator; nothing on the way may keep the answer.
 *
 * @param value What to write as JSON.
 */
export function jsonResponse(value: unknown): Response {
  return new Response(JSON.stringify(value), {
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
    },
  });
}
