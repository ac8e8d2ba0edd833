import * as z from "zod";
import { Fault, type JsonObject } from "../../domain/mod.ts";
import { checkFields } from "../openai/request_fault.ts";
import { describeSchema } from "../openapi_schema.ts";

const MODEL = "must be a model's name";
const text = z.string({ error: MODEL });
const name = text.min(1, { error: MODEL });

/** `name` is the older spelling. */
const NAMED = z.looseObject({ model: text.nullish(), name: text.nullish() });
const PULL = NAMED.extend({
  stream: z.boolean({ error: "must be true or false" }).nullish(),
});
const COPY = z.looseObject({ source: name, destination: name });

/**
 * Read the body of `DELETE /api/delete`.
 *
 * @param body The body.
 * @returns The model's name.
 * @throws {Fault} When it names none.
 */
export function readName(body: JsonObject): string {
  return nameOf(checkFields(NAMED, body));
}

/** Read the body of `POST /api/pull`: what to fetch, and whether to tell of it line by line. */
export function readPull(
  body: JsonObject,
): { readonly source: string; readonly stream: boolean } {
  const fields = checkFields(PULL, body);
  return { source: nameOf(fields), stream: fields.stream ?? true };
}

/** Read the body of `POST /api/copy`. */
export function readCopy(
  body: JsonObject,
): { readonly source: string; readonly destination: string } {
  return checkFields(COPY, body);
}

/** The schema of `POST /api/pull`, for the API's description. */
export function describePull(): JsonObject {
  return describeSchema(PULL);
}

/** The schema of `POST /api/copy`, for the API's description. */
export function describeCopy(): JsonObject {
  return describeSchema(COPY);
}

/** The schema of a body that names a model in either spelling, for the API's description. */
export function describeName(): JsonObject {
  return describeSchema(NAMED);
}

function nameOf({ model, name }: z.infer<typeof NAMED>): string {
  const found = model ?? name ?? "";
  if (found !== "") return found;
  throw new Fault("invalid_request", "The model's name is missing", {
    param: "model",
  });
}
