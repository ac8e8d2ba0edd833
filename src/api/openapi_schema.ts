import * as z from "zod";
import type { JsonObject } from "../domain/mod.ts";

/**
 * Write a schema that parses as one that describes.
 *
 * @param schema What a body has to satisfy.
 * @param others What it has to satisfy besides.
 * @returns A JSON schema of draft 2020-12, as OpenAPI 3.1 takes it.
 */
export function describeSchema(
  schema: z.ZodType,
  ...others: readonly JsonObject[]
): JsonObject {
  const text = JSON.stringify(
    z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }),
  );
  const { $schema: _dialect, ...own }: JsonObject = JSON.parse(text);
  return others.length === 0 ? own : { allOf: [...others, own] };
}
