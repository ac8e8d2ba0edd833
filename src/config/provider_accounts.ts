import type { Secret } from "../domain/mod.ts";
import type { ProviderConfig, ProviderName } from "./node_config.ts";
import type { SettingValues } from "./setting_values.ts";

/** The part of the settings that tells of providers. */
type ProviderSettings = Pick<
  SettingValues,
  | "providers"
  | "openrouterApiKey"
  | "anthropicApiKey"
  | "geminiApiKey"
  | "groqApiKey"
  | "cerebrasApiKey"
  | "deepseekApiKey"
  | "openaiApiKey"
>;

/**
 * Bring providers and keys together: a provider is used that was named and
 * whose key is set, and no other.
 *
 * @param settings What was said.
 * @returns The providers, each once, and what the operator should know.
 */
export function providerAccounts(settings: ProviderSettings): {
  readonly providers: readonly ProviderConfig[];
  readonly notices: readonly string[];
} {
  const keys: Readonly<Record<ProviderName, Secret | null>> = {
    openrouter: settings.openrouterApiKey,
    anthropic: settings.anthropicApiKey,
    gemini: settings.geminiApiKey,
    groq: settings.groqApiKey,
    cerebras: settings.cerebrasApiKey,
    deepseek: settings.deepseekApiKey,
    openai: settings.openaiApiKey,
  };
  const providers: ProviderConfig[] = [];
  const notices: string[] = [];
  for (const name of new Set(settings.providers)) {
    const key = keys[name];
    if (key !== null) providers.push({ name, key });
    else {
      notices.push(
        `COVEY_PROVIDERS names ${name}, which is not used: ${name.toUpperCase()}_API_KEY is not set`,
      );
    }
  }
  return { providers, notices };
}
