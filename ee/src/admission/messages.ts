import type { JsonObject, JsonValue } from "@covey/core/domain";
import { isJsonObject } from "@covey/core/domain";
import { z } from "zod";
import { type AdmissionWay, wayOf } from "./admission_way.ts";
import type { AdmissionVerdict } from "./admission_outcome.ts";
import { POINT_BYTES } from "./cpace.ts";
import { EXCHANGE_VERSION } from "./session_keys.ts";

/** Most bytes a message may have that comes before both sides are confirmed. */
export const UNPROVED_LIMIT_BYTES = 2048;
/** Most bytes a message with a payload may have. */
export const PAYLOAD_LIMIT_BYTES = 2 ** 20;
/** Length of each side's nonce. */
export const NONCE_BYTES = 32;
/** Length of a run's name. */
export const RUN_BYTES = 16;
const TAG_BYTES = 64;
/** Length of a token's name. */
const TOKEN_NAME_BYTES = 8;
/** Deepest nesting a payload may have; the exchange itself looks no deeper. */
const PAYLOAD_DEPTH = 32;

/** What an initiator sends. */
export type AdmissionRequest =
  /** Opens a run; holds nothing that depends on the password. */
  | {
    readonly step: "hello";
    readonly way: AdmissionWay;
    readonly nonce: Uint8Array;
  }
  /** The initiator's share and its proof. */
  | {
    readonly step: "confirm";
    readonly run: string;
    readonly share: Uint8Array;
    readonly tag: Uint8Array;
  }
  /** What the initiator has to say, once both are proved. */
  | {
    readonly step: "present";
    readonly run: string;
    readonly payload: string;
    readonly tag: Uint8Array;
  };

/** What a responder answers. */
export type AdmissionReply =
  | {
    readonly step: "hello";
    readonly run: string;
    readonly nonce: Uint8Array;
    readonly share: Uint8Array;
  }
  | { readonly step: "confirm"; readonly tag: Uint8Array }
  /** The verdict as text, which is parsed only once its tag is verified. */
  | {
    readonly step: "verdict";
    readonly payload: string;
    readonly tag: Uint8Array;
  }
  /** Whatever went wrong, in one shape. */
  | { readonly step: "refused" }
  /** There is no room for a run now. */
  | { readonly step: "busy" };

const version = z.literal(EXCHANGE_VERSION);
const run = hex(RUN_BYTES).transform((bytes) => bytes.toHex());
/** Lone surrogates are refused: UTF-8 has none, so a tag could not tell them apart. */
const payload = z.string().max(PAYLOAD_LIMIT_BYTES).refine((text) =>
  text.isWellFormed()
);

const requestSchema = z.discriminatedUnion("step", [
  z.object({
    v: version,
    step: z.literal("hello"),
    kind: z.enum(["secret", "token", "code"]),
    slot: z.literal(1).optional(),
    token: hex(TOKEN_NAME_BYTES).optional(),
    nonce: hex(NONCE_BYTES),
  }),
  z.object({
    v: version,
    step: z.literal("confirm"),
    run,
    share: hex(POINT_BYTES),
    tag: hex(TAG_BYTES),
  }),
  z.object({
    v: version,
    step: z.literal("present"),
    run,
    payload,
    tag: hex(TAG_BYTES),
  }),
]);

const replySchema = z.discriminatedUnion("step", [
  z.object({
    v: version,
    step: z.literal("hello"),
    run,
    nonce: hex(NONCE_BYTES),
    share: hex(POINT_BYTES),
  }),
  z.object({ v: version, step: z.literal("confirm"), tag: hex(TAG_BYTES) }),
  z.object({
    v: version,
    step: z.literal("verdict"),
    payload,
    tag: hex(TAG_BYTES),
  }),
  z.object({ v: version, step: z.literal("refused") }),
  z.object({ v: version, step: z.literal("busy") }),
]);

const verdictSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("admitted"), payload: z.unknown() }),
  z.object({ kind: z.literal("refused"), reason: z.string().max(2000) }),
]);

/**
 * Parse what a peer asked.
 *
 * @param bytes Anything.
 * @param limitBytes Most bytes the request may have at this step.
 * @returns The request, or undefined when the bytes are none; fields that this
 *   version does not know are ignored.
 */
export function parseAdmissionRequest(
  bytes: Uint8Array,
  limitBytes: number,
): AdmissionRequest | undefined {
  const parsed = requestSchema.safeParse(parseBoundedJson(bytes, limitBytes));
  if (!parsed.success) return undefined;
  if (parsed.data.step !== "hello") return parsed.data;
  const way = wayOf(parsed.data.kind, parsed.data);
  return way === undefined
    ? undefined
    : { step: "hello", way, nonce: parsed.data.nonce };
}

/**
 * Parse what a peer answered.
 *
 * @param bytes Anything.
 * @param limitBytes Most bytes the answer may have at this step.
 * @returns The reply, or undefined when the bytes are none.
 */
export function parseAdmissionReply(
  bytes: Uint8Array,
  limitBytes: number,
): AdmissionReply | undefined {
  const parsed = replySchema.safeParse(parseBoundedJson(bytes, limitBytes));
  return parsed.success ? parsed.data : undefined;
}

/**
 * Parse a payload whose tag has been verified.
 *
 * @param text The payload as it was tagged.
 * @returns The object, or undefined when it is none or nested too deeply.
 */
export function parsePayload(text: string): JsonObject | undefined {
  const json = parseJson(text);
  if (!isJsonObject(json) || !isShallow(json, PAYLOAD_DEPTH)) return undefined;
  return json;
}

/**
 * Parse a verdict whose tag has been verified.
 *
 * @param text The verdict as it was tagged.
 * @returns The verdict, or undefined when it is none.
 */
export function parseVerdict(text: string): AdmissionVerdict | undefined {
  const json = parsePayload(text);
  const parsed = verdictSchema.safeParse(json);
  if (!parsed.success) return undefined;
  if (parsed.data.kind === "refused") return parsed.data;
  const content = json?.payload;
  return isJsonObject(content)
    ? { kind: "admitted", payload: content }
    : undefined;
}

function wayFields(way: AdmissionWay | undefined) {
  switch (way?.kind) {
    case undefined:
      return {};
    case "secret":
      return { kind: way.kind, ...(way.slot === 0 ? {} : { slot: way.slot }) };
    case "token":
      return { kind: way.kind, token: way.id };
    case "code":
      return { kind: way.kind };
    default:
      return way satisfies never;
  }
}

/**
 * Write a request or a reply.
 *
 * @param message The message.
 * @returns Its bytes, UTF-8 JSON.
 * @throws {RangeError} When the payload is too long for one message.
 */
export function encodeMessage(
  message: AdmissionRequest | AdmissionReply,
): Uint8Array<ArrayBuffer> {
  const { way, ...plain } = "way" in message
    ? message
    : { ...message, way: undefined };
  const fields = Object.entries({ ...plain, ...wayFields(way) }).map((
    [name, value],
  ) => [name, value instanceof Uint8Array ? value.toHex() : value] as const);
  const bytes = new TextEncoder().encode(
    JSON.stringify({ v: EXCHANGE_VERSION, ...Object.fromEntries(fields) }),
  );
  if (bytes.length > PAYLOAD_LIMIT_BYTES) {
    throw new RangeError(
      `Failed to write an admission message: ${bytes.length} bytes are more than ${PAYLOAD_LIMIT_BYTES}`,
    );
  }
  return bytes;
}

/** Exactly so many bytes in lower-case hexadecimal: each value has one spelling. */
function hex(bytes: number) {
  return z.string().length(2 * bytes).regex(/^[0-9a-f]+$/).transform((text) =>
    Uint8Array.fromHex(text)
  );
}

function parseBoundedJson(
  bytes: Uint8Array,
  limitBytes: number,
): JsonValue | undefined {
  if (bytes.length > limitBytes) return undefined;
  try {
    return parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // Not UTF-8, so not a message.
    return undefined;
  }
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, or nested beyond the parser's depth: not a message.
    return undefined;
  }
}

function isShallow(value: JsonValue | undefined, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth === 0) return false;
  return Object.values(value).every((one) => isShallow(one, depth - 1));
}
