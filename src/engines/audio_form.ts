import { isJsonObject, type JsonObject } from "../domain/mod.ts";

/**
 * Write a transcription request as the form that OpenAI's API takes, which is
 * what it was before it was read: the file with its bytes, name and type, lists
 * as fields that end in `[]` (AUD-01).
 *
 * @param body The request's body; `file` has `name`, `type` and `data` (base64).
 * @returns The form.
 */
export function writeAudioForm(body: JsonObject): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    if (name === "file") continue;
    if (Array.isArray(value)) {
      for (const one of value) form.append(`${name}[]`, String(one));
    } else if (value !== null) {
      form.append(name, typeof value === "string" ? value : String(value));
    }
  }
  const { file } = body;
  if (isJsonObject(file) && typeof file.data === "string") {
    const type = typeof file.type === "string" ? file.type : "";
    const blob = new Blob([Uint8Array.fromBase64(file.data)], { type });
    // Servers tell the format by the name's ending.
    form.append("file", blob, nameOf(file.name));
  }
  return form;
}

function nameOf(name: JsonObject[string]): string {
  return typeof name === "string" && name !== "" ? name : "audio";
}
