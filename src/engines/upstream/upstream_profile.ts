import type { JsonObject, Upkeep } from "../../domain/mod.ts";
import type { HttpClient } from "../http_client.ts";
import type { CatalogueAnswer } from "./catalogue.ts";
import type { UpstreamHttp } from "./upstream_http.ts";

/** Kinds of servers that are known. */
export type UpstreamKind =
  | "ollama"
  | "lmstudio"
  | "llama-server"
  | "vllm"
  | "openai-compatible";

/** What is particular to one kind of server; all else is the same for all. */
export interface UpstreamProfile {
  /** Sequences side by side where the server does not say. */
  readonly slots: number;
  /**
   * What an assistant's turn has for content that holds tool calls alone, where
   * the server takes no null for it; absent for null.
   */
  readonly emptyContent?: "";
  /** Whether it passes over `max_completion_tokens` and takes `max_tokens` alone; absent for no. */
  readonly onlyMaxTokens?: true;
  /** Fields that engines on own machines know, and that it refuses a request for; absent for none. */
  readonly refusedFields?: readonly string[];
  /**
   * The way to ask it so that what a caller wants of a model in memory counts;
   * absent for servers that have no words for that. With it, the server unloads
   * a model when it is asked to.
   */
  heeding?(client: HttpClient, upkeep: Upkeep): HttpClient;
  /** Whether its OpenAI routes pass over what a body says, and `heeding` does not; absent for never. */
  passesOver?(body: JsonObject): boolean;
  /**
   * Ask what models it has. The form of the answer decides, never its status:
   * some servers answer 200 to anything.
   *
   * @throws {TypeError} When it can not be reached.
   */
  list(http: UpstreamHttp, signal: AbortSignal): Promise<CatalogueAnswer>;
}
