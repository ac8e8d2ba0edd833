import { type PieceSource, streamOf } from "../domain/mod.ts";
import { readBody } from "./body_reader.ts";

/**
 * The runtime's `fetch`, with an answer whose body ends with the signal too.
 *
 * By itself the runtime (2.9.6) forgets the signal of an answer that has begun
 * as soon as a garbage collection passes: it follows the caller's signal by one
 * of its own that nothing but a weak reference holds (denoland/deno#29075 is
 * the same fault of `AbortSignal.any`). A deadline then ends nothing, and a
 * server that stalls in the middle of its answer is waited for without end.
 *
 * @param input Address.
 * @param init As the runtime's `fetch` takes it.
 * @returns The answer. Once the signal aborts, reading its body fails with the
 * signal's reason, and the connection is closed.
 * @throws {TypeError} When there is no answer.
 * @throws What the signal was aborted with, when that was before the answer began.
 */
export async function boundFetch(
  input: string | URL,
  init: RequestInit & { client?: Deno.HttpClient } = {},
): Promise<Response> {
  return boundTo(await fetch(input, init), init.signal);
}

/**
 * Bind what is left of an answer to a signal.
 *
 * @param response The answer, whose body is nobody else's from now on.
 * @param signal Ends the body; it stays as it is where there is none.
 * @returns The answer with the body that ends.
 */
export function boundTo(
  response: Response,
  signal: AbortSignal | null | undefined,
): Response {
  if (response.body === null || !signal) return response;
  const { status, statusText, headers } = response;
  return new Response(
    streamOf(new BoundBody(readBody(response.body), signal)),
    {
      status,
      statusText,
      headers,
    },
  );
}

/** A body whose reads fail once a signal has aborted. */
class BoundBody implements PieceSource {
  readonly #body: PieceSource;
  readonly #signal: AbortSignal;
  readonly #onAbort = () => this.#abort();

  constructor(body: PieceSource, signal: AbortSignal) {
    this.#body = body;
    this.#signal = signal;
    if (signal.aborted) this.#abort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  async read(): Promise<Uint8Array | undefined> {
    try {
      const piece = await this.#body.read();
      // What was cancelled looks as if it had ended.
      this.#signal.throwIfAborted();
      if (piece === undefined) this.#leave();
      return piece;
    } catch (error) {
      this.#leave();
      throw this.#signal.aborted ? this.#signal.reason : error;
    }
  }

  cancel(reason: unknown): Promise<void> {
    this.#leave();
    return this.#body.cancel(reason);
  }

  #abort(): void {
    // It may have broken off by itself.
    this.#body.cancel(this.#signal.reason).catch(() => {});
  }

  #leave(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}
