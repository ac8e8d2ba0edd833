import { type PieceSource, sourceOf } from "../domain/mod.ts";

const NOTHING: PieceSource = {
  read: () => Promise.resolve(undefined),
  cancel: () => Promise.resolve(),
  isOver: true,
};

/** A request to an engine's HTTP server. */
export interface HttpCall {
  /** Path with a leading slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or a form, whose content type `fetch` writes. */
  readonly body: string | FormData;
}

/** Header fields by name, in any case. */
export interface HttpFields {
  /** The value, or null where there is none. */
  get(name: string): string | null;
}

/** A server's answer, whose body comes as it is read. */
export interface HttpReply {
  readonly status: number;
  readonly headers: HttpFields;
  readonly body: PieceSource;
}

/** No connection to a server came to stand: it has heard nothing of the request. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/** Talks to one engine's HTTP server. Disposing of it closes its connections. */
export interface HttpClient extends Disposable {
  /**
   * POST.
   *
   * @param signal Aborting it breaks the call off, its body included.
   * @throws {UnreachableError} When no connection stands in time.
   * @throws {Error} When the server breaks off or answers no HTTP.
   */
  post(call: HttpCall, signal: AbortSignal): Promise<HttpReply>;
}

/** Take a response of `fetch` over. */
export function replyOf({ body, headers, status }: Response): HttpReply {
  return { status, headers, body: body === null ? NOTHING : sourceOf(body) };
}
