import { hash } from "node:crypto";
import {
  type InferenceRequest,
  isJsonObject,
  type JsonValue,
} from "../domain/mod.ts";

/** A head of a prompt: everything up to the end of one of its messages. */
export interface PrefixMark {
  /** Keyed, so that nobody can test a guess of the text against it. */
  readonly digest: string;
  /** Its share of the prompt's tokens. */
  readonly tokens: number;
  /** Whether the message that follows is an answer of a model. */
  readonly isAnswered: boolean;
}

/** What a prompt begins with, head by head. */
export interface PrefixChain {
  /** Shortest first; the last one is the whole prompt. */
  readonly marks: readonly PrefixMark[];
  /** Stands for the conversation that the caller named, or null. */
  readonly conversation: string | null;
  readonly promptTokens: number;
}

/** Heads that are kept of a longer chain: those at its beginning, and its latest. */
const FIRST_MARKS = 8;
const LAST_MARKS = 120;
/** A longer prompt is told apart by its beginning alone: hashing must not stop the node. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
const BLOCK_CHARACTERS = 1024;
/** Of a digest in hexadecimal: 128 bits. */
const DIGEST_CHARACTERS = 32;

/** Callers whose digest of who they are is kept: it begins every chain of theirs. */
const MOST_CALLERS = 256;

/**
 * Digests what prompts begin with. Equal heads of equal clients, models and
 * tools have equal digests, as long as the key is the same.
 */
export class PrefixChains {
  readonly #key: string;
  /** Digests of who asks for which model, without tools. */
  readonly #callers = new Map<string, string>();

  /** @param secret Secret of this process. */
  constructor(secret: Uint8Array) {
    this.#key = secret.toHex();
  }

  /**
   * Digest a prompt.
   *
   * @param request A chat or completion.
   * @returns The chain; without marks where the prompt has no text.
   */
  chain(request: InferenceRequest): PrefixChain {
    const { client, model, promptTokens, conversation } = request;
    const who = JSON.stringify([client, model]);
    const blocks = blocksOf(request);
    let digest = this.#begin(who, request.body.tools);
    let characters = 0;
    const heads: { readonly digest: string; readonly characters: number }[] =
      [];
    for (const { text } of blocks) {
      characters += text.length;
      if (characters > MOST_CHARACTERS) break;
      digest = this.#digest(`${digest} ${text}`);
      heads.push({ digest, characters });
    }
    const all = heads.map((head, at): PrefixMark => ({
      digest: head.digest,
      tokens: Math.floor(
        promptTokens * head.characters / Math.max(1, characters),
      ),
      isAnswered: blocks[at + 1]?.isAnswer ?? false,
    }));
    return {
      marks: all.length <= FIRST_MARKS + LAST_MARKS
        ? all
        : [...all.slice(0, FIRST_MARKS), ...all.slice(-LAST_MARKS)],
      conversation: conversation === null
        ? null
        : this.#digest(`${who} conversation ${conversation}`),
      promptTokens,
    };
  }

  #begin(who: string, tools: JsonValue | undefined): string {
    if (tools !== undefined) {
      return this.#digest(`${who} ${JSON.stringify(tools)}`);
    }
    let digest = this.#callers.get(who);
    if (digest === undefined) {
      if (this.#callers.size >= MOST_CALLERS) this.#callers.clear();
      digest = this.#digest(`${who} no tools`);
      this.#callers.set(who, digest);
    }
    return digest;
  }

  /**
   * SHA-256 with the key in front. It is not HMAC, which takes five times as
   * long here for every message of every prompt: what a key in front allows is
   * to digest a longer text without it, and that takes the whole of a digest,
   * which nobody gets. Hexadecimal, because the runtime writes that in a third
   * of the time that any other form takes.
   */
  #digest(text: string): string {
    return hash("sha256", `${this.#key} ${text}`, "hex")
      .slice(0, DIGEST_CHARACTERS);
  }
}

interface Block {
  readonly text: string;
  readonly isAnswer: boolean;
}

function blocksOf({ body }: InferenceRequest): readonly Block[] {
  const { messages, prompt } = body;
  if (Array.isArray(messages)) {
    return messages.map((message: JsonValue) => ({
      text: JSON.stringify(message),
      isAnswer: isJsonObject(message) && message.role === "assistant",
    }));
  }
  if (typeof prompt !== "string") return [];
  const blocks: Block[] = [];
  const end = Math.min(prompt.length, MOST_CHARACTERS);
  for (let at = 0; at < end; at += BLOCK_CHARACTERS) {
    blocks.push({
      text: prompt.slice(at, at + BLOCK_CHARACTERS),
      isAnswer: false,
    });
  }
  return blocks;
}
