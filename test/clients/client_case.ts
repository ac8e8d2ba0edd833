/** Where a client is pointed, and what it asks for. */
export interface Target {
  /** Base address, maybe with a source's prefix; no slash at the end. */
  readonly base: string;
  readonly chatModel: string;
  readonly embeddingModel: string;
}

/** A tool call as a client hands it to its user. */
export interface CalledTool {
  readonly name: string;
  readonly input: unknown;
}

/** What one client can be asked to do; what its dialect lacks is absent. */
export interface ClientCases {
  /** Ask and read the whole answer: its text. */
  chat(): Promise<string>;
  /** Ask and read pieces: the texts of all. */
  stream(): Promise<readonly string[]>;
  /** Ask with a tool that must be called. */
  tools(): Promise<CalledTool>;
  /** Ask for JSON of a schema: the value. */
  schema(): Promise<unknown>;
  /** Embed one text, vectors sent as numbers. */
  embedFloat?(): Promise<readonly number[]>;
  /** Embed one text, vectors sent as base64. */
  embedBase64?(): Promise<readonly number[]>;
  /** Ask for a long answer, read two pieces, and leave. */
  abort(): Promise<void>;
}

/** One client library. */
export interface Client {
  /** Its package, with its version. */
  readonly name: string;
  connect(target: Target): ClientCases;
}

/** What every client asks. */
export const PROMPT = "Say something short.";
/** Tokens of a short answer. */
export const SHORT = 12;
/** Tokens of an answer that nobody waits for. */
export const LONG = 3000;
/** The text that is embedded. */
export const EMBEDDED = "a mountain by the sea";

/** The tool that must be called; its input has no room for a long text. */
export const TOOL = {
  name: "set_light",
  description: "Switch the light",
  schema: {
    type: "object" as const,
    properties: { on: { type: "boolean" as const } },
    required: ["on"],
    additionalProperties: false,
  },
};

/** The schema that an answer must follow. */
export const SCHEMA = {
  type: "object" as const,
  properties: {
    verdict: { type: "string" as const, enum: ["yes", "no"] },
    sure: { type: "boolean" as const },
  },
  required: ["verdict", "sure"],
  additionalProperties: false,
};
