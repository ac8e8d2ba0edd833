import { boundsOf } from "../body_handler.ts";
import type { ApiOptions, Call, Handler } from "../context.ts";
import { jsonResponse } from "../dialect/respond.ts";
import { readJsonObject } from "../json_body.ts";
import { listingsFor, offersFor } from "../model_reach.ts";
import { headersIn } from "./model_details.ts";
import { OLLAMA_VERSION, runningOf, showModel, tagsOf } from "./models.ts";

/** The handlers of Ollama's lists. */
export interface OllamaLists {
  readonly tags: Handler;
  readonly running: Handler;
  readonly show: Handler;
  readonly version: Handler;
}

/**
 * Make them.
 *
 * @param options What the API is built from.
 * @param startedMs Wall-clock time at which the node started.
 */
export function createOllamaLists(
  options: ApiOptions,
  startedMs: number,
): OllamaLists {
  const startedAt = new Date(startedMs).toISOString();
  const listings = (call: Call) => listingsFor(call, options);
  const { clock, models } = options;
  return {
    version: () => answer({ version: OLLAMA_VERSION }),
    tags: async (call) =>
      answer(await tagsOf(listings(call), headersIn(models), startedAt)),
    running: async (call) =>
      answer(
        await runningOf(
          offersFor(call, options),
          headersIn(models),
          clock.now(),
        ),
      ),
    async show(call) {
      const body = await readJsonObject(
        call.request,
        boundsOf(options),
        clock,
        call.fields,
      );
      return answer(
        showModel(body, listings(call), headersIn(models), startedAt),
      );
    },
  };
}

function answer(value: Parameters<typeof jsonResponse>[0]): Response {
  return jsonResponse(value, [["cache-control", "no-store"]], 200);
}
