import type { ServerResponse } from "node:http";

/**
 * Answer a member: a text as it is, bytes and anything else as JSON.
 */
export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
): void {
  const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(
    typeof body === "string" ? body : JSON.stringify(body),
  );
  response.writeHead(status, {
    "content-type": typeof body === "string"
      ? "text/plain"
      : "application/json",
    "content-length": bytes.length,
  });
  response.end(bytes);
}
