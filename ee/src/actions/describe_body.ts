import type { JsonObject } from "@covey/core/domain";
import { z } from "zod";

/**
 * Write a schema that reads an action's body as one that describes it.
 *
 * @param schema What the body has to satisfy.
 * @returns A JSON schema of draft 2020-12, as OpenAPI 3.1 takes it.
 */
export function describeBody(schema: z.ZodType): JsonObject {
  const text = JSON.stringify(z.toJSONSchema(schema, { io: "input" }));
  const { $schema: _dialect, ...own }: JsonObject = JSON.parse(text);
  return own;
}
