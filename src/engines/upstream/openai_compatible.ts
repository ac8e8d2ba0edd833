import type { UpstreamProfile } from "./upstream_profile.ts";
import { readOpenAiList } from "./openai_list.ts";

/** vLLM batches what comes, 256 sequences by default; this many are tried at once. */
const VLLM_SLOTS = 16;

/** The profile of vLLM: models and their context from `/v1/models`. */
export const VLLM: UpstreamProfile = profile(VLLM_SLOTS);

/** The profile of any server that speaks OpenAI's API and says nothing more. */
export const OPENAI_COMPATIBLE: UpstreamProfile = profile(1);

function profile(slots: number): UpstreamProfile {
  return {
    slots,
    async list(http, signal) {
      const list = await readOpenAiList(http, signal);
      return list.kind === "other"
        ? list
        : { kind: "listed", catalogue: { models: list.models, slots: null } };
    },
  };
}
