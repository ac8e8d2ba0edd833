import { Fault } from "../../domain/mod.ts";

/** 529 is Anthropic's own word for it. */
const UNREADY: ReadonlySet<number> = new Set([503, 529]);
const OVERLOADED = 529;
/** llama-server: "Loading model". Hugging Face: "Model x is currently loading". */
const LOADING = /\bloading model\b|\b(?:currently|still) loading\b/i;
/** Ollama, llama-server, Groq and most others, in their own words. */
const BUSY =
  /server (?:is )?(?:too )?busy|maximum pending|queue[ _](?:is )?full|no slots? available|overloaded|(?:at|over) capacity/i;
/** Where the server does not say. */
const LOADING_RETRY_MS = 2_000;
const BUSY_RETRY_MS = 1_000;
const LONGEST_RETRY_S = 3_600;

/**
 * Whether a server may mean by a status that it can not answer just now, and
 * not that it is broken.
 *
 * @param status Of its answer.
 */
export function mayBeUnready(status: number): boolean {
  return UNREADY.has(status);
}

/**
 * Tell a server that still loads its model, or has its hands full, from one
 * that is broken: it is asked again soon, and the breaker counts nothing.
 *
 * @param status One that `mayBeUnready`.
 * @param text Body of its answer.
 * @param retryAfter What it says of when to ask again, or null.
 * @returns What to tell the caller, or null for a server that is broken.
 */
export function unreadyFault(
  status: number,
  text: string,
  retryAfter: string | null,
): Fault | null {
  if (status === OVERLOADED || BUSY.test(text)) {
    return new Fault("queue_full", "The engine has its hands full", {
      origin: "engine",
      retryAfterMs: waitMs(retryAfter) ?? BUSY_RETRY_MS,
    });
  }
  return LOADING.test(text)
    ? new Fault("engine_loading", "The engine still loads the model", {
      origin: "engine",
      retryAfterMs: waitMs(retryAfter) ?? LOADING_RETRY_MS,
    })
    : null;
}

function waitMs(retryAfter: string | null): number | null {
  const seconds = /^\d{1,9}$/.test(retryAfter ?? "") ? Number(retryAfter) : 0;
  return seconds > 0 ? Math.min(seconds, LONGEST_RETRY_S) * 1_000 : null;
}
