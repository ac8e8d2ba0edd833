import type { PullOffer } from "@covey/core/domain";
import { z } from "zod";
import { parseBoundedJson } from "../link/bounded_json.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { WireError } from "../link/wire_error.ts";
import { call, type CallMeans } from "./copy_calls.ts";
import { PULLS_PATH } from "./pull_call.ts";

/** Where members are asked what they have from one source. */
export const OFFERS_PATH = `${PULLS_PATH}/origins`;
/** Models of one source that a member tells of. */
export const MOST_OFFERS = 64;
const MOST_FILES = 999;
const LARGEST_FILE_BYTES = 2 ** 40;
const LIMIT_BYTES = 512 * 1024;
/** A member reads the manifests of its models for it. */
const LIMIT_MS = 5000;

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const questionSchema = z.object({
  v: z.literal(1),
  source: z.string().min(1).max(2048),
});
const offersSchema = z.object({
  v: z.literal(1),
  offers: z.array(z.object({
    model: z.string().min(1).max(300),
    root: digest,
    files: z.array(z.object({
      origin: z.object({
        source: z.string().min(1).max(2048),
        path: z.string().max(1024).nullable(),
        revision: z.string().max(100).nullable(),
        etag: z.string().max(300).nullable(),
        sha256: digest.nullable(),
      }),
      sizeBytes: z.number().int().min(1).max(LARGEST_FILE_BYTES),
    })).min(1).max(MOST_FILES),
  })).max(MOST_OFFERS),
});

/**
 * Ask a member what it has from a source.
 *
 * @param source Repository of a hub, or a URL without its query.
 * @throws {NotHeldError} When its version knows no such question. Else as `fetchManifest`.
 */
export async function askOffers(
  channel: MemberChannel,
  source: string,
  means: CallMeans,
): Promise<readonly PullOffer[]> {
  const bytes = await call(channel, {
    method: "POST",
    path: OFFERS_PATH,
    body: JSON.stringify({ v: 1, source }),
    limitBytes: LIMIT_BYTES,
    limitMs: LIMIT_MS,
  }, means);
  return parseOffers(bytes);
}

/**
 * Read what a member has.
 *
 * @throws {WireError} When it is no list of models.
 */
export function parseOffers(bytes: Uint8Array): readonly PullOffer[] {
  const parsed = offersSchema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) {
    throw new WireError("Cannot read what a member has from a source");
  }
  return parsed.data.offers.map(({ files, model, root }) => ({
    model,
    root,
    files,
    sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    members: 1,
  }));
}

/** Write what this node has, as far as there is room for it. */
export function encodeOffers(
  offers: readonly PullOffer[],
): Uint8Array<ArrayBuffer> {
  const kept: unknown[] = [];
  let left = LIMIT_BYTES - 1024;
  for (const { files, model, root } of offers.slice(0, MOST_OFFERS)) {
    const one = { model, root, files };
    left -= JSON.stringify(one).length * 2;
    if (left < 0) break;
    kept.push(one);
  }
  return new TextEncoder().encode(JSON.stringify({ v: 1, offers: kept }));
}

/**
 * Read which source a member asks for.
 *
 * @throws {WireError} When it is no question.
 */
export function parseOfferQuestion(bytes: Uint8Array): string {
  const parsed = questionSchema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) throw new WireError("Cannot read which source is meant");
  return parsed.data.source;
}
