import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Upkeep,
} from "../../domain/mod.ts";
import type { HttpCall, HttpClient } from "../http_client.ts";
import { readBoundedJson } from "./bounded_json.ts";
import {
  type AnswerForm,
  ollamaEvents,
  ollamaVectors,
  ollamaWhole,
} from "./ollama_answer.ts";
import { ollamaCall } from "./ollama_request.ts";

/**
 * Ask an Ollama in its own dialect what was written in OpenAI's, so that what a
 * caller wants of the model in memory reaches it. What its own dialect can not
 * say goes to its OpenAI routes as it is.
 *
 * @param client The way to the server.
 * @param upkeep What the caller wants.
 * @returns A client that answers in OpenAI's dialect.
 */
export function createOllamaClient(
  client: HttpClient,
  upkeep: Upkeep,
): HttpClient {
  return {
    async post(call, signal) {
      const body = bodyOf(call);
      const own = body === undefined
        ? null
        : ollamaCall(call.path, body, upkeep);
      if (body === undefined || own === null) {
        return await client.post(call, signal);
      }
      const response = await client.post({
        ...call,
        path: own.path,
        body: JSON.stringify(own.body),
      }, signal);
      const model = String(body["model"] ?? "");
      if (!response.ok) return await refusalOf(response);
      if (upkeep.only === "unload") {
        await response.body?.cancel();
        return Response.json({ unloaded: true });
      }
      const form: AnswerForm = call.path === "/v1/completions"
        ? "completion"
        : "chat";
      if (own.body["stream"] === true && response.body !== null) {
        return new Response(
          response.body.pipeThrough(ollamaEvents(form, model)),
          { headers: { "content-type": "text/event-stream" } },
        );
      }
      const value = await readBoundedJson(response);
      const answer = own.path === "/api/embed"
        ? ollamaVectors(model, value)
        : ollamaWhole(form, model, value);
      return answer === undefined
        ? Response.json(
          { error: { message: "The server's answer has another form" } },
          { status: 502 },
        )
        : Response.json(answer);
    },
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

function bodyOf({ body }: HttpCall): JsonObject | undefined {
  if (typeof body !== "string") return undefined;
  const value: JsonValue = JSON.parse(body);
  return isJsonObject(value) ? value : undefined;
}

/** Its own errors are one text. */
async function refusalOf(response: Response): Promise<Response> {
  const { headers, status } = response;
  const value = await readBoundedJson(response);
  const said = isJsonObject(value) ? value["error"] : undefined;
  const message = typeof said === "string" ? said : "The server refused this";
  const after = headers.get("retry-after");
  return Response.json({ error: { message } }, {
    status,
    headers: after === null ? {} : { "retry-after": after },
  });
}
