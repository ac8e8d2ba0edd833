import {
  type InferenceRequest,
  isJsonObject,
  type JsonValue,
} from "../../domain/mod.ts";

/**
 * Write null contents of turns that hold tool calls as a server takes them
 * (TRN-03).
 *
 * @param request A request whose turns without content have null for it.
 * @param content What the server wants in its place.
 * @returns The very same request where there is none.
 */
export function withContent(
  request: InferenceRequest,
  content: "",
): InferenceRequest {
  const { messages } = request.body;
  if (!Array.isArray(messages) || !messages.some(isBare)) return request;
  return {
    ...request,
    body: {
      ...request.body,
      messages: messages.map((message) =>
        isBare(message) && isJsonObject(message)
          ? { ...message, content }
          : message
      ),
    },
  };
}

function isBare(message: JsonValue): boolean {
  return isJsonObject(message) && message.content === null;
}
