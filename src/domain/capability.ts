/** What an engine can do with a model: the kind of work a request asks for. */
export type Capability =
  | "chat"
  | "completion"
  | "embedding"
  | "rerank"
  | "transcription"
  | "speech";

/** All capabilities, in the order in which they are listed to people. */
export const CAPABILITIES: readonly Capability[] = [
  "chat",
  "completion",
  "embedding",
  "rerank",
  "transcription",
  "speech",
];

/** What a single request may need beyond its capability. */
export type ModelFeature =
  | "tools"
  | "vision"
  | "json_schema"
  | "logprobs"
  /** More than one answer to a request. */
  | "n"
  /** Goes on with an answer that another engine began (see `Resume`). */
  | "resume";

/** All features. */
export const MODEL_FEATURES: readonly ModelFeature[] = [
  "tools",
  "vision",
  "json_schema",
  "logprobs",
  "n",
  "resume",
];
