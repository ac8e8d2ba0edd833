import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  streamOf,
  type Upkeep,
} from "../../domain/mod.ts";
import {
  type HttpCall,
  type HttpClient,
  type HttpReply,
  replyOf,
} from "../http_client.ts";
import { readBoundedJson } from "./bounded_json.ts";
import {
  type AnswerForm,
  ollamaEvents,
  ollamaVectors,
  ollamaWhole,
} from "./ollama_answer.ts";
import { ollamaCall } from "./ollama_request.ts";

const LEAST_OK = 200;
const LEAST_NOT_OK = 300;

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
      const reply = await client.post({
        ...call,
        path: own.path,
        body: JSON.stringify(own.body),
      }, signal);
      const model = String(body["model"] ?? "");
      if (reply.status < LEAST_OK || reply.status >= LEAST_NOT_OK) {
        return await refusalOf(reply);
      }
      if (upkeep.only === "unload") {
        await reply.body.cancel(null);
        return replyOf(Response.json({ unloaded: true }));
      }
      const form: AnswerForm = call.path === "/v1/completions"
        ? "completion"
        : "chat";
      if (own.body["stream"] === true) {
        const events = streamOf(reply.body).pipeThrough(
          ollamaEvents(form, model),
        );
        return replyOf(
          new Response(events, {
            headers: { "content-type": "text/event-stream" },
          }),
        );
      }
      const value = await readBoundedJson(reply.body);
      const answer = own.path === "/api/embed"
        ? ollamaVectors(model, value)
        : ollamaWhole(form, model, value);
      return replyOf(
        answer === undefined
          ? Response.json(
            { error: { message: "The server's answer has another form" } },
            { status: 502 },
          )
          : Response.json(answer),
      );
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
async function refusalOf(reply: HttpReply): Promise<HttpReply> {
  const { body, headers, status } = reply;
  const value = await readBoundedJson(body);
  const said = isJsonObject(value) ? value["error"] : undefined;
  const message = typeof said === "string" ? said : "The server refused this";
  const after = headers.get("retry-after");
  return replyOf(
    Response.json({ error: { message } }, {
      status,
      headers: after === null ? {} : { "retry-after": after },
    }),
  );
}
