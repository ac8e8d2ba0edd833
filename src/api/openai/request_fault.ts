import { Fault, type JsonObject } from "../../domain/mod.ts";
import type * as z from "zod";

/**
 * Check a body's fields, turning what is wrong into one sentence for the
 * caller that names the field and what it accepts.
 *
 * @param schema The fields that Covey reads; others pass on unseen.
 * @param body The body.
 * @returns The fields, typed.
 * @throws {Fault} `invalid_request` with the path of the first wrong field.
 */
export function checkFields<Fields>(
  schema: z.ZodType<Fields>,
  body: JsonObject,
): Fields {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = pathOf(issue?.path ?? []);
  throw wrongField(path, issue?.message ?? "is not valid");
}

/**
 * Name a wrong field.
 *
 * @param param Path of the field, such as `messages[0].role`.
 * @param problem The rest of the sentence: `must be …`.
 * @returns The fault.
 */
export function wrongField(param: string, problem: string): Fault {
  return new Fault("invalid_request", `"${param}" ${problem}`, { param });
}

/**
 * Tell whether the arguments of a call are JSON (TRN-04). Engines write none at
 * all for a tool that takes none.
 *
 * @param text The arguments.
 */
export function holdsJson(text: string): boolean {
  if (text.trim() === "") return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The answer is the boolean; the caller words the fault.
    return false;
  }
}

function pathOf(path: readonly PropertyKey[]): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += text === "" ? String(step) : `.${String(step)}`;
  }
  return text;
}
