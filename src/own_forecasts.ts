import type { ModelForecasts } from "./domain/mod.ts";
import { type LoadTerms, reckonLoad } from "./engines/embedded/memory_need.ts";
import type {
  RemoteModels,
  RemoteModelsOptions,
} from "./models/pull/remote_models.ts";

/**
 * Make what tells of models before they are pulled: the header is read by those
 * who pull, and what it means for memory is reckoned by those who load.
 *
 * @param options How a source is asked.
 * @param terms What this node loads models with.
 */
export function openForecasts(
  options: RemoteModelsOptions,
  terms: Omit<LoadTerms, "total">,
): ModelForecasts {
  // Loaded when somebody asks: a node at rest pays nothing.
  let loading: Promise<RemoteModels> | undefined;
  const load = async () => {
    const { RemoteModels } = await import("./models/pull/remote_models.ts");
    return new RemoteModels(options);
  };
  return {
    async forecast(request, signal) {
      const models = await (loading ??= load());
      const { model, readBytes, sizeBytes } = await models.look(
        request,
        signal,
      );
      return {
        model: model.name,
        quantisation: model.quantisation ?? null,
        sizeBytes,
        readBytes,
        reckon: (total) => reckonLoad(model, { ...terms, total }),
      };
    },
  };
}
