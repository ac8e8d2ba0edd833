import type { IncomingMessage, ServerResponse } from "node:http";
import type { ModelShelf } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { readBody } from "../link/read_body.ts";
import { WireError } from "../link/wire_error.ts";
import { type ArrivalPath, parseArrivalPath } from "./arrival_call.ts";
import { encodePage } from "./arrival_page.ts";
import { planSizes } from "./chunk_plan.ts";
import type { ModelSender } from "./model_sender.ts";
import { encodeOffers, OFFERS_PATH, parseOfferQuestion } from "./offer_call.ts";
import { parseQuestion, PULLS_PATH } from "./pull_call.ts";
import { offersOf } from "./pull_offers.ts";
import type { PullTurns } from "./pull_turns.ts";
import { reply } from "./reply.ts";

const ASK_LIMITS = { maxBytes: 128 * 1024, limitMs: 5000 };

/** What answers about pulls are made from. */
export interface AnswersOptions {
  /** Null where this node keeps no models. */
  readonly shelf: ModelShelf | null;
  /** Null where this node keeps no models. */
  readonly turns: PullTurns | null;
  readonly sender: ModelSender;
  readonly clock: Clock;
}

/** What members ask about pulls: how this node stands to one, what has come of it, and what lies here from a source. */
export class PullAnswers {
  readonly #options: AnswersOptions;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** Answer a member on the link. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { shelf, turns } = this.#options;
    if (turns === null || shelf === null) {
      return reply(response, 404, "No models are kept here");
    }
    if (request.method === "POST" && path === PULLS_PATH) {
      return await this.#read(
        request,
        response,
        async (bytes) => await turns.answer(parseQuestion(bytes)),
      );
    }
    if (request.method === "POST" && path === OFFERS_PATH) {
      return await this.#read(
        request,
        response,
        async (bytes) =>
          encodeOffers(await offersOf(shelf, parseOfferQuestion(bytes))),
      );
    }
    const asked = request.method === "GET" ? parseArrivalPath(path) : undefined;
    if (asked === undefined) {
      return reply(response, 404, "There is nothing here");
    }
    await this.#arriving(turns, asked, request, response);
  }

  async #read(
    request: IncomingMessage,
    response: ServerResponse,
    answerTo: (bytes: Uint8Array) => Promise<unknown>,
  ): Promise<void> {
    const body = await readBody(request, ASK_LIMITS, this.#options.clock);
    if (body.kind !== "body") return reply(response, 400, "No body came");
    try {
      reply(response, 200, await answerTo(body.bytes));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      reply(response, 400, error.message);
    }
  }

  /** What a pull has brought so far. */
  async #arriving(
    turns: PullTurns,
    asked: ArrivalPath,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const found = turns.arriving(asked.key);
    const { parts = null, model = "" } = found?.want ?? {};
    if (found === null || parts === null) {
      return reply(response, 404, "Nothing of that is pulled here");
    }
    const { arrivals } = found;
    if (asked.kind === "arrived") {
      const page = await arrivals.page(asked.run, asked.count);
      return reply(response, 200, encodePage(page));
    }
    const digestOf = (file: number, position: number) =>
      arrivals.digestOf(file, position);
    return await this.#options.sender.send(
      {
        model,
        chunks: planSizes(
          parts.sizes.map((size, at) => at === asked.file ? size : 0),
          digestOf,
        ),
        has: (chunk) => chunk.digest !== "" && parts.has(chunk),
        read: (chunk, room) => parts.read(chunk, room),
        // It may have been written anew meanwhile; the pull checks it all in the end.
        onBad() {},
      },
      request,
      response,
    );
  }
}
