import type { JsonObject } from "../domain/mod.ts";

/**
 * Write the usage chunk of a stream as a caller who asked for it expects it:
 * no choices, directly before the terminator.
 *
 * @param chunk The chunk that brought the usage, with or without choices.
 * @param last The last chunk with choices, whose id and name the usage chunk shares, or null.
 * @returns The event's bytes.
 */
export function usageEvent(
  chunk: JsonObject,
  last: JsonObject | null,
): Uint8Array {
  const { timings, ...own } = chunk;
  const body = {
    ...(last === null ? {} : {
      id: last.id,
      object: last.object,
      created: last.created,
      model: last.model,
    }),
    ...own,
    choices: [],
    ...(timings === undefined ? {} : { timings }),
  };
  return new TextEncoder().encode(`data: ${JSON.stringify(body)}\n\n`);
}
