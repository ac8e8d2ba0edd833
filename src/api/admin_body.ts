import type * as z from "zod";
import { Fault, type JsonObject } from "../domain/mod.ts";
import { describeSchema } from "./openapi_schema.ts";

/** The body of an operator's route: one schema reads it and describes it. */
export interface AdminBody<Value> {
  /**
   * Read a body.
   *
   * @param body The body.
   * @returns What it says.
   * @throws {Fault} `invalid_request`.
   */
  read(body: JsonObject): Value;
  /** Its JSON schema, for the API's description. */
  describe(): JsonObject;
}

/**
 * Make what reads the body of an operator's route.
 *
 * @param schema What it has to satisfy.
 * @param refusal One sentence with the form that it has.
 * @param param The field that can be wrong, where there is just one.
 */
export function adminBody<Value>(
  schema: z.ZodType<Value>,
  refusal: string,
  param: string | null = null,
): AdminBody<Value> {
  return {
    read(body) {
      const read = schema.safeParse(body);
      if (read.success) return read.data;
      throw new Fault(
        "invalid_request",
        refusal,
        param === null ? {} : { param },
      );
    },
    describe: () => describeSchema(schema),
  };
}
