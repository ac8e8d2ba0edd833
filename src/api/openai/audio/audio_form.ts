import { Fault, type JsonObject, type JsonValue } from "../../../domain/mod.ts";
import type { Clock } from "../../../platform/mod.ts";
import { type BodyBounds, readBody } from "../../body.ts";
import type { HeadFields } from "../../head_fields.ts";
import { wrongField } from "../request_fault.ts";
import { parseMultipart } from "./multipart.ts";

const LONGEST_FIELD_BYTES = 64 * 1024;

/**
 * Read a form with one file as the object that a JSON body would be: fields as
 * strings, repeated ones (`name[]`) as arrays, and `file` as an object of
 * `name`, `type`, `size` and `data` (base64), which travels between members
 * like any body (AUD-01).
 *
 * @param request The request.
 * @param bounds What is too much and too slow.
 * @param clock Measures the deadlines.
 * @param fields Its head.
 * @returns The object.
 * @throws {Fault} When the body can not be read as that.
 */
export async function readAudioForm(
  request: Request,
  bounds: BodyBounds,
  clock: Clock,
  fields: HeadFields,
): Promise<JsonObject> {
  const contentType = fields.get("content-type") ?? "";
  const bytes = await readBody(request, bounds, clock, fields);
  const form: Record<string, JsonValue> = Object.create(null);
  for (const part of parseMultipart(bytes, contentType)) {
    if (part.name === "file") {
      if (form.file !== undefined) {
        throw wrongField("file", "must be given once");
      }
      form.file = {
        name: part.filename ?? "",
        type: part.contentType,
        size: part.bytes.length,
        data: part.bytes.toBase64(),
      };
      continue;
    }
    if (part.bytes.length > LONGEST_FIELD_BYTES) {
      throw new Fault(
        "invalid_request",
        `A field of the form exceeds ${LONGEST_FIELD_BYTES} bytes`,
      );
    }
    const value = new TextDecoder().decode(part.bytes);
    if (part.name.endsWith("[]")) {
      const name = part.name.slice(0, -2);
      const known = form[name];
      form[name] = [...(Array.isArray(known) ? known : []), value];
    } else form[part.name] = value;
  }
  return { ...form };
}
