import { Fault, type JsonObject } from "../domain/mod.ts";
import type { Clock } from "../platform/mod.ts";
import { readBody } from "./body.ts";
import { parseJsonObject } from "./json_body.ts";

/** Room for names and a URL. */
const LIMIT_BYTES = 16 * 1024;
/** Longest silence while a body comes. */
const IDLE_MS = 10_000;
/** Longest time for all of it. */
const TOTAL_MS = 20_000;

/** What a route takes of an operator's body. */
export interface AdminBodyOptions {
  /** Most bytes; 16 KiB unless said. */
  readonly limitBytes?: number;
  /** Whether no body at all is read as an object without members. */
  readonly mayBeEmpty?: boolean;
}

/**
 * Read what an operator sends.
 *
 * @param request The request.
 * @param clock Measures the deadlines.
 * @param options What differs from other routes.
 * @returns The body's object.
 * @throws {Fault} When it is of another type than `application/json`, too large, too slow, or no object.
 */
export async function readAdminBody(
  request: Request,
  clock: Clock,
  { limitBytes = LIMIT_BYTES, mayBeEmpty = false }: AdminBodyOptions = {},
): Promise<JsonObject> {
  checkContentType(request);
  const bounds = { limitBytes, idleMs: IDLE_MS, totalMs: TOTAL_MS };
  const bytes = await readBody(request, bounds, clock);
  return mayBeEmpty && bytes.length === 0 ? {} : parseJsonObject(bytes);
}

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
