import {
  Fault,
  type JsonObject,
  type ModelInventory,
} from "../../domain/mod.ts";
import { checkContentType, jsonResponse } from "../admin_json.ts";
import { boundsOf } from "../body_handler.ts";
import type { ApiOptions, Call, Handler } from "../context.ts";
import { readJsonObject } from "../json_body.ts";
import { progressResponse } from "../progress_lines.ts";
import { watchPull } from "../pull_routes.ts";
import { readCopy, readName, readPull } from "./model_bodies.ts";

/** What Ollama's clients may do to the models that lie here. */
export interface OllamaAdmin {
  readonly pull: Handler;
  readonly remove: Handler;
  readonly copy: Handler;
}

/**
 * Make the handlers of `POST /api/pull`, `POST /api/copy` and
 * `DELETE /api/delete`. Names are those of Covey: `org/repo[:quantisation]`, as
 * after `hf.co/` in Ollama; `:latest` says nothing, as everywhere.
 *
 * @param options What the API is built from.
 */
export function createOllamaAdmin(options: ApiOptions): OllamaAdmin {
  const { clock, log, models, pulls } = options;
  const bodyOf = async ({ request }: Call): Promise<JsonObject> => {
    checkContentType(request);
    return await readJsonObject(request, boundsOf(options), clock);
  };
  return {
    async pull(call) {
      const body = await bodyOf(call);
      if (pulls === undefined) throw refused("fetches no models");
      const { source, stream } = readPull(body);
      if (!stream) {
        await pulls.pull({ source }, () => {}, call.signal);
        return jsonResponse({ status: "success" });
      }
      return progressResponse(
        async (tell, signal) => {
          const told = (line: JsonObject) => tell(lineOf(line));
          await watchPull({ clock, pulls }, { source }, told, signal);
          return { status: "success" };
        },
        call.signal,
        log,
      );
    },
    async remove(call) {
      const body = await bodyOf(call);
      if (models === undefined) throw refused("has no models folder");
      await models.remove(nameHere(models, readName(body)));
      return new Response(null, { status: 200 });
    },
    async copy(call) {
      const body = await bodyOf(call);
      if (models === undefined) throw refused("has no models folder");
      const { source, destination } = readCopy(body);
      await models.alias(
        nameHere(models, source),
        destination.replace(LATEST, ""),
      );
      return new Response(null, { status: 200 });
    },
  };
}

const LATEST = /:latest$/;

/** A model's own name, where it was called by the one that Ollama's lists make of it. */
function nameHere(models: ModelInventory, name: string): string {
  const isThere = models.list().some((model) => model.name === name);
  return isThere ? name : name.replace(LATEST, "");
}

function lineOf(view: JsonObject): JsonObject {
  switch (view["stage"]) {
    case "copying":
    case "relaying":
    case "downloading": {
      const { doneBytes, id, totalBytes } = view;
      return {
        status: `pulling ${String(id)}`,
        digest: String(id),
        ...(totalBytes === null ? {} : { total: totalBytes }),
        completed: doneBytes,
      };
    }
    case "verifying":
      return { status: "verifying sha256 digest" };
    case "publishing":
      return { status: "writing manifest" };
    default:
      return { status: "pulling manifest" };
  }
}

function refused(why: string): Fault {
  return new Fault("not_implemented", `This node ${why}`);
}
