import type { ZodType } from "zod";
import type { JsonValue } from "../../../domain/mod.ts";
import { invalidField } from "./request_error.ts";

/**
 * Check a part of a body.
 *
 * @param schema What it must be.
 * @param value What it is.
 * @param at Name of the field that the value came in, or empty for the body.
 * @returns The checked value.
 * @throws {RequestError} A 400 that names the first field that is wrong.
 */
export function checkFields<T>(
  schema: ZodType<T>,
  value: JsonValue | undefined,
  at = "",
): T {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  const path = [...(at === "" ? [] : [at]), ...(issue?.path ?? [])].join(".");
  const param = path === "" ? "body" : path;
  throw invalidField(
    param,
    `The field "${param}" is wrong: ${
      issue?.message ?? "it was not understood"
    }`,
  );
}
