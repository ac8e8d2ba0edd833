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
/** Of a digest in base64url: 128 bits and a little. */
const DIGEST_CHARACTERS = 22;

/**
 * Digest what a prompt begins with. Equal heads of equal clients, models and
 * tools have equal digests, as long as the key is the same.
 *
 * @param request A chat or completion.
 * @param secret Secret of this process.
 * @returns The chain; without marks where the prompt has no text.
 */
export function prefixChain(
  request: InferenceRequest,
  secret: Uint8Array,
): PrefixChain {
  const key = secret.toHex();
  const { client, model, promptTokens, conversation } = request;
  const who = JSON.stringify([client, model]);
  const blocks = blocksOf(request);
  let digest = digestOf(key, `${who} ${JSON.stringify(request.body.tools)}`);
  let characters = 0;
  const heads: { readonly digest: string; readonly characters: number }[] = [];
  for (const { text } of blocks) {
    characters += text.length;
    if (characters > MOST_CHARACTERS) break;
    digest = digestOf(key, `${digest} ${text}`);
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
      : digestOf(key, `${who} conversation ${conversation}`),
    promptTokens,
  };
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

/**
 * SHA-256 with the key in front. It is not HMAC, which takes five times as long
 * here for every message of every prompt: what a key in front allows is to
 * digest a longer text without it, and that takes the whole of a digest, which
 * nobody gets.
 */
function digestOf(key: string, text: string): string {
  return hash("sha256", `${key} ${text}`, "base64url")
    .slice(0, DIGEST_CHARACTERS);
}
