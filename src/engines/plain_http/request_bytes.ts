import type { HttpCall } from "../http_client.ts";

const encoder = new TextEncoder();
/** Anything else would need an encoding, or end its line. */
const WRITABLE = /^[\t\x20-\x7e]*$/;

/**
 * Write a POST down.
 *
 * @param host Value of its `Host`.
 * @param call What to ask for.
 * @returns The whole request.
 * @throws {TypeError} When a header can not be written.
 */
export async function requestBytes(
  host: string,
  { body, headers, path }: HttpCall,
): Promise<Uint8Array> {
  if (typeof body === "string") {
    return joined(host, path, headers, encoder.encode(body));
  }
  // A form's parts and their boundary are the runtime's business.
  const form = new Response(body);
  const type = form.headers.get("content-type") ?? "multipart/form-data";
  return joined(
    host,
    path,
    { ...headers, "content-type": type },
    await form.bytes(),
  );
}

function joined(
  host: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Uint8Array {
  // Packing pays on a long way, and this is none.
  let head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n` +
    `accept-encoding: identity\r\ncontent-length: ${body.length}\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (!WRITABLE.test(value)) {
      throw new TypeError(`The header "${name}" has a value that is not ASCII`);
    }
    head += `${name}: ${value}\r\n`;
  }
  head += "\r\n";
  const whole = new Uint8Array(head.length + body.length);
  encoder.encodeInto(head, whole);
  whole.set(body, head.length);
  return whole;
}
