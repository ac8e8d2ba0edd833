import {
  Fault,
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
  parseDuration,
  type Upkeep,
} from "../../domain/mod.ts";
import { wrongField } from "../openai/request_fault.ts";

const LONGEST_MS = 365 * 24 * 3_600_000;
const KEEP_ALIVE_FORMS =
  'must be seconds or a duration such as "5m", 0 to unload after the answer, or negative to stay loaded';
const LEAST_CONTEXT = 1;
const LARGEST_CONTEXT = 16_777_216;

/**
 * Read what a request of Ollama's dialect wants of its model in memory:
 * `keep_alive` and `options.num_ctx`.
 *
 * @param body The request's body.
 * @returns What it says; nothing of it where it says nothing.
 * @throws {Fault} Naming the field that is wrong.
 */
export function upkeepOf(body: JsonObject): Upkeep {
  const keepAliveMs = keepAliveOf(body["keep_alive"]);
  const contextLength = contextOf(body["options"]);
  return {
    ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
    ...(contextLength === undefined ? {} : { contextLength }),
  };
}

/**
 * Read `keep_alive`: a number of seconds, a duration as Go writes it, or either
 * as text; anything negative for ever.
 *
 * @param value What came.
 * @returns Milliseconds, at most a year; null for ever, undefined where nothing was said.
 * @throws {Fault} When it is something else.
 */
export function keepAliveOf(
  value: JsonObject[string] | undefined,
): number | null | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const ms = typeof value === "number"
    ? value < 0 ? Infinity : value * 1_000
    : typeof value === "string"
    ? parseDuration(value)
    : undefined;
  if (ms === undefined) throw wrongField("keep_alive", KEEP_ALIVE_FORMS);
  return ms === Infinity ? null : Math.min(Math.round(ms), LONGEST_MS);
}

/** A model's context is set up when it is loaded, so that this may load it anew. */
function contextOf(
  options: JsonObject[string] | undefined,
): number | undefined {
  const wanted = isJsonObject(options) ? options["num_ctx"] : undefined;
  if (wanted === undefined || wanted === null) return undefined;
  if (
    typeof wanted === "number" && Number.isInteger(wanted) &&
    wanted >= LEAST_CONTEXT && wanted <= LARGEST_CONTEXT
  ) return wanted;
  throw new Fault(
    "invalid_request",
    `"options.num_ctx" must be a whole number of tokens from ${LEAST_CONTEXT} to ${LARGEST_CONTEXT}`,
    { param: "options.num_ctx" },
  );
}

/** What `upkeepOf` reads, as a schema for the API's description. */
export function describeUpkeep(): JsonObject {
  return {
    type: "object",
    properties: {
      keep_alive: {
        type: ["string", "number", "null"],
        description: `It ${KEEP_ALIVE_FORMS}`,
      },
      options: {
        type: "object",
        properties: {
          num_ctx: {
            type: ["integer", "null"],
            minimum: LEAST_CONTEXT,
            maximum: LARGEST_CONTEXT,
          },
        },
      },
    },
  };
}

/**
 * A request with what it wants of its model in memory. What says nothing is
 * left out: it would travel with every attempt.
 *
 * @param request The request.
 * @param upkeep What its body says.
 */
export function withUpkeep(
  request: InferenceRequest,
  upkeep: Upkeep,
): InferenceRequest {
  return Object.keys(upkeep).length === 0 ? request : { ...request, upkeep };
}
