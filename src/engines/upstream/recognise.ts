import { isJsonObject } from "../../domain/mod.ts";
import { LLAMA_SERVER } from "./llama_server.ts";
import { LMSTUDIO } from "./lmstudio.ts";
import { createOllamaProfile } from "./ollama.ts";
import { OPENAI_COMPATIBLE, VLLM } from "./openai_compatible.ts";
import { readOpenAiList } from "./openai_list.ts";
import type { UpstreamHttp } from "./upstream_http.ts";
import type { UpstreamKind, UpstreamProfile } from "./upstream_profile.ts";

/**
 * Make the profile of a kind of server.
 *
 * @param kind The kind.
 */
export function profileOf(kind: UpstreamKind): UpstreamProfile {
  switch (kind) {
    case "ollama":
      return createOllamaProfile();
    case "lmstudio":
      return LMSTUDIO;
    case "llama-server":
      return LLAMA_SERVER;
    case "vllm":
      return VLLM;
    case "openai-compatible":
      return OPENAI_COMPATIBLE;
    default: {
      const never: never = kind;
      return never;
    }
  }
}

/**
 * Find out what listens at an address, by the form of what it answers alone.
 *
 * @returns Its kind, or null for what is none of them, or is a node of Covey.
 * @throws {TypeError} When it can not be reached any longer.
 */
export async function recognise(
  http: UpstreamHttp,
  signal: AbortSignal,
): Promise<UpstreamKind | null> {
  // A node that took another for its engine would send its work in a circle.
  if (await isCovey(http, signal)) return null;
  const list = await readOpenAiList(http, signal);
  if (list.kind === "listed" && list.owners.has("vllm")) return "vllm";
  for (const kind of ["lmstudio", "llama-server", "ollama"] as const) {
    const answer = await profileOf(kind).list(http, signal);
    if (answer.kind === "listed") return kind;
  }
  return list.kind === "listed" && list.models.length > 0
    ? "openai-compatible"
    : null;
}

async function isCovey(
  http: UpstreamHttp,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = await http.probe("/fleet/health", signal);
  return answer.kind === "json" && isJsonObject(answer.value) &&
    Array.isArray(answer.value["workers"]);
}
