import {
  Fault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../domain/mod.ts";
import { wrongField } from "../openai/request_fault.ts";

/** Parts of a user's turn in the internal dialect. */
export type UserPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly url: string };

/**
 * Read content that can only be text: a system prompt.
 *
 * @param content A string, or an array of text blocks.
 * @param at Where it stands, for the error.
 * @returns The text.
 * @throws {Fault} When a block is no text.
 */
export function textOf(content: JsonValue | undefined, at: string): string {
  if (typeof content === "string") return content;
  return blocksOf(content, at).map((block, index) => {
    if (block.type === "text" && typeof block.text === "string") {
      return block.text;
    }
    throw wrongField(`${at}[${index}]`, "must be a text block");
  }).join("\n");
}

/**
 * Read content as an array of blocks.
 *
 * @param content A string, an array of blocks, or nothing.
 * @param at Where it stands, for the error.
 * @returns The blocks.
 * @throws {Fault} When it is neither.
 */
export function blocksOf(
  content: JsonValue | undefined,
  at: string,
): readonly JsonObject[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) {
    throw wrongField(at, "must be a string or an array of content blocks");
  }
  return content.map((block, index) => {
    if (isJsonObject(block) && typeof block.type === "string") return block;
    throw wrongField(`${at}[${index}]`, "must be a content block with a type");
  });
}

/**
 * Read a block that a user, or a tool, shows the model.
 *
 * @param block The block.
 * @param at Where it stands, for the error.
 * @returns Its parts.
 * @throws {Fault} Naming the block where it is of a kind that no engine here reads.
 */
export function shownParts(
  block: JsonObject,
  at: string,
): readonly UserPart[] {
  switch (block.type) {
    case "text":
      return typeof block.text === "string"
        ? [{ kind: "text", text: block.text }]
        : refuse(`${at}.text`, "must be a string");
    case "image":
      return [{ kind: "image", url: imageUrl(block.source, `${at}.source`) }];
    case "search_result":
      return blocksOf(block.content, `${at}.content`).flatMap((one, index) =>
        shownParts(one, `${at}.content[${index}]`)
      );
    case "document":
      return documentParts(block.source, `${at}.source`);
    default:
      throw new Fault(
        "not_implemented",
        `Covey does not read content blocks of type "${
          String(block.type).slice(0, 100)
        }" ("${at}")`,
        { param: `${at}.type` },
      );
  }
}

function refuse(at: string, problem: string): never {
  throw wrongField(at, problem);
}

function imageUrl(source: JsonValue | undefined, at: string): string {
  if (isJsonObject(source)) {
    const { type, media_type: mediaType, data, url } = source;
    if (
      type === "base64" && typeof mediaType === "string" &&
      typeof data === "string"
    ) return `data:${mediaType};base64,${data}`;
    if (type === "url" && typeof url === "string") return url;
  }
  throw wrongField(at, "must be a base64 or url source of an image");
}

function documentParts(
  source: JsonValue | undefined,
  at: string,
): readonly UserPart[] {
  if (isJsonObject(source)) {
    const { type, data, content } = source;
    if (type === "text" && typeof data === "string") {
      return [{ kind: "text", text: data }];
    }
    if (type === "content") {
      return blocksOf(content, `${at}.content`).flatMap((one, index) =>
        shownParts(one, `${at}.content[${index}]`)
      );
    }
  }
  throw new Fault(
    "not_implemented",
    `Covey reads documents as plain text alone ("${at}")`,
    { param: at },
  );
}

/**
 * Write parts as the content of a message of the internal dialect: one string
 * where there is only text, which every chat template can take.
 *
 * @param parts The parts.
 * @returns The content.
 */
export function contentOf(parts: readonly UserPart[]): JsonValue {
  if (parts.every((part) => part.kind === "text")) {
    return parts.map(({ text }) => text).join("\n");
  }
  return parts.map((part): JsonValue =>
    part.kind === "text"
      ? { type: "text", text: part.text }
      : { type: "image_url", image_url: { url: part.url } }
  );
}
