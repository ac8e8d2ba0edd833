import { CAPABILITIES } from "../domain/mod.ts";
import { bad, type BadConfig, quote } from "./given.ts";
import type { ModelCapabilities } from "./node_config.ts";

/** The capabilities of covey.jsonc, or what is wrong with them. */
export type CapabilityList =
  | { readonly kind: "read"; readonly rules: readonly ModelCapabilities[] }
  | BadConfig;

const MOST_RULES = 1_024;
const LONGEST_PATTERN = 512;

/**
 * Parse `capabilities` of covey.jsonc: names of models of upstream servers, or
 * patterns of them, each with what it does, for servers that do not say it and
 * names that do not tell.
 *
 * @param value The parsed JSON.
 */
export function parseModelCapabilities(value: unknown): CapabilityList {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return wrong("must map names of models to what they do");
  }
  const entries = Object.entries(value);
  if (entries.length > MOST_RULES) {
    return wrong(`holds ${entries.length} names; give at most ${MOST_RULES}`);
  }
  const rules: ModelCapabilities[] = [];
  for (const [pattern, said] of entries) {
    const list: readonly unknown[] = Array.isArray(said) ? said : [said];
    const capabilities = CAPABILITIES.filter((one) => list.includes(one));
    const isWhole = list.length > 0 && new Set(list).size === list.length &&
      capabilities.length === list.length;
    if (pattern === "" || pattern.length > LONGEST_PATTERN || !isWhole) {
      return wrong(
        `${quote(pattern.slice(0, LONGEST_PATTERN))}: give one of ${
          CAPABILITIES.join(", ")
        }, or a list of them`,
      );
    }
    rules.push({ pattern, capabilities });
  }
  return { kind: "read", rules };
}

function wrong(problem: string): BadConfig {
  return bad("covey.jsonc", `covey.jsonc "capabilities" ${problem}`);
}
