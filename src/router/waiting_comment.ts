import type { Engine } from "../domain/mod.ts";

const ENCODER = new TextEncoder();
const QUEUED = ENCODER.encode(": queued\n\n");

/**
 * Write a comment that keeps a stream's connection alive while there is nothing
 * to send, and says what is waited for.
 *
 * @param engine Whom the request waits for, or null where that is being decided.
 * @param model That engine's name for its model.
 * @returns The comment's bytes.
 */
export function waitingComment(
  engine: Pick<Engine, "view"> | null,
  model: string,
): Uint8Array {
  const view = engine?.view();
  const [offer] = view?.index?.named(model) ??
    view?.offers.filter((one) => one.model === model) ?? [];
  const state = offer?.state;
  if (state?.kind !== "loading") return QUEUED;
  const part = state.progress === undefined
    ? ""
    : ` ${Math.floor(state.progress * 100)} %`;
  const seconds = Math.ceil(state.remainingMs / 1_000);
  return ENCODER.encode(`: loading${part}, about ${seconds} s left\n\n`);
}
