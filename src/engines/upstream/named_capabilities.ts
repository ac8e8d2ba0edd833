import type { Capability } from "../../domain/mod.ts";
import { ALL_CHAT_FEATURES, type CatalogueModel } from "./catalogue.ts";
import type { UpstreamProfile } from "./upstream_profile.ts";

/** What the operator said that models do. */
export interface NamedCapabilities {
  /** Their name, `*` for any characters. */
  readonly pattern: string;
  readonly capabilities: readonly Capability[];
}

/**
 * Let an operator's word stand before what a server says of its models, and
 * before what their names tell.
 *
 * @param profile The server's.
 * @param rules The first whose pattern fits a model's name holds.
 */
export function withCapabilities(
  profile: UpstreamProfile,
  rules: readonly NamedCapabilities[],
): UpstreamProfile {
  if (rules.length === 0) return profile;
  const compiled = rules.map(({ pattern, capabilities }) => ({
    form: formOf(pattern),
    capabilities,
  }));
  const told = (model: CatalogueModel): CatalogueModel => {
    const rule = compiled.find(({ form }) => form.test(model.name));
    if (rule === undefined) return model;
    const { capabilities } = rule;
    const wasChat = model.capabilities.includes("chat");
    const features = wasChat ? model.features : ALL_CHAT_FEATURES;
    return {
      ...model,
      capabilities,
      features: capabilities.includes("chat") ? features : [],
    };
  };
  return {
    ...profile,
    async list(http, signal) {
      const answer = await profile.list(http, signal);
      if (answer.kind === "other") return answer;
      const { catalogue } = answer;
      const models = catalogue.models.map(told);
      return { kind: "listed", catalogue: { ...catalogue, models } };
    },
  };
}

/** Stars become lazy gaps; two in a row say no more than one. */
function formOf(pattern: string): RegExp {
  const parts = pattern.split(/\*+/).map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join(".*?")}$`, "s");
}
