import type {
  JsonObject,
  LocalModel,
  ModelInventory,
} from "../../domain/mod.ts";

/** Finds what the header of a model's file says, where that file lies here. */
export type HeaderOf = (
  model: string,
) => Pick<LocalModel, "architecture" | "quantisation"> | undefined;

/**
 * Make what finds it.
 *
 * @param inventory The models that lie here; undefined where there is no models folder.
 */
export function headersIn(inventory: ModelInventory | undefined): HeaderOf {
  const models = new Map(inventory?.list().map((one) => [one.name, one]));
  return (model) => models.get(model);
}

/**
 * Write `details` of Ollama's lists. No engine tells them: of a model that does
 * not lie here they are empty, in the form that clients expect.
 *
 * @param header What the model's file says of itself, where it is known.
 */
export function detailsOf(header: ReturnType<HeaderOf>): JsonObject {
  const family = header?.architecture ?? "";
  return {
    parent_model: "",
    format: "gguf",
    family,
    families: family === "" ? [] : [family],
    parameter_size: "",
    quantization_level: header?.quantisation ?? "",
  };
}
