import type { ModelManifest, NodeId } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { z } from "zod";
import { parseBoundedJson } from "../link/bounded_json.ts";
import { LinkError } from "../link/link_error.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { WireError } from "../link/wire_error.ts";
import { ChunkMap } from "./chunk_map.ts";
import { NotHeldError } from "./copy_error.ts";
import { MANIFEST_LIMIT_BYTES, parseManifest } from "./copy_manifest.ts";
import {
  COPIES_LIMIT_BYTES,
  type CopyAsk,
  type CopyView,
  parseCopies,
} from "./copy_view.ts";
import { formatModelPath } from "./model_path.ts";

/** Where copies of a member are asked for, listed and changed on the link. */
export const COPIES_PATH = "/covey/1/copies";
const CALL_LIMIT_MS = 2000;
const MANIFEST_LIMIT_MS = 15_000;
/** A pause is answered once what was being written lies on the disk. */
const CHANGE_LIMIT_MS = 15_000;

/** What every call needs. */
export interface CallMeans {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A request on the link whose answer is small. */
export interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  readonly limitBytes: number;
  readonly limitMs: number;
}

/**
 * Fetch the manifest of a root, checked against it.
 *
 * @throws {NotHeldError} When the member does not have it.
 * @throws {LinkError} When the link fails.
 * @throws {WireError} When what came is not that manifest.
 */
export async function fetchManifest(
  channel: MemberChannel,
  root: string,
  means: CallMeans,
): Promise<ModelManifest> {
  const bytes = await call(channel, {
    method: "GET",
    path: formatModelPath({ kind: "manifest", root }),
    limitBytes: MANIFEST_LIMIT_BYTES,
    limitMs: MANIFEST_LIMIT_MS,
  }, means);
  return parseManifest(bytes, root);
}

const heldSchema = z.object({ held: z.string().nullable() });

/**
 * Ask which chunks of a root a member has.
 *
 * @param size How many chunks there are.
 * @returns Null for all.
 * @throws As `fetchManifest`.
 */
export async function fetchHeld(
  channel: MemberChannel,
  root: string,
  size: number,
  means: CallMeans,
): Promise<ChunkMap | null> {
  const bytes = await call(channel, {
    method: "GET",
    path: formatModelPath({ kind: "held", root }),
    limitBytes: COPIES_LIMIT_BYTES,
    limitMs: CALL_LIMIT_MS,
  }, means);
  const parsed = heldSchema.safeParse(parseBoundedJson(bytes)).data;
  if (parsed?.held === null) return null;
  const map = ChunkMap.fromHex(parsed?.held ?? "", size);
  if (map === undefined) {
    throw new WireError("Cannot read which chunks are held");
  }
  return map;
}

/** Have a member copy a model; what it says of it. Throws as `fetchManifest`. */
export async function askCopy(
  channel: MemberChannel,
  ask: CopyAsk,
  of: { readonly node: NodeId; readonly nodeName: string },
  means: CallMeans,
): Promise<readonly CopyView[]> {
  const bytes = await call(channel, {
    method: "POST",
    path: COPIES_PATH,
    body: JSON.stringify(ask),
    limitBytes: COPIES_LIMIT_BYTES,
    limitMs: CALL_LIMIT_MS,
  }, means);
  return parseCopies(bytes, of);
}

/** The copies of a member. Throws as `fetchManifest`. */
export async function listCopies(
  channel: MemberChannel,
  of: { readonly node: NodeId; readonly nodeName: string },
  means: CallMeans,
): Promise<readonly CopyView[]> {
  const bytes = await call(channel, {
    method: "GET",
    path: COPIES_PATH,
    limitBytes: COPIES_LIMIT_BYTES,
    limitMs: CALL_LIMIT_MS,
  }, means);
  return parseCopies(bytes, of);
}

/** What can be done about a copy. */
export type CopyChange = "cancel" | "pause" | "resume";

/**
 * Cancel, pause or resume a copy of a member.
 *
 * @throws {NotHeldError} When it has none of that id. Else as `fetchManifest`.
 */
export async function changeCopy(
  channel: MemberChannel,
  id: string,
  change: CopyChange,
  of: { readonly node: NodeId; readonly nodeName: string },
  means: CallMeans,
): Promise<readonly CopyView[]> {
  const bytes = await call(channel, {
    method: "POST",
    path: `${COPIES_PATH}/${encodeURIComponent(id)}/${change}`,
    limitBytes: COPIES_LIMIT_BYTES,
    limitMs: CHANGE_LIMIT_MS,
  }, means);
  return parseCopies(bytes, of);
}

/**
 * Ask a member something.
 *
 * @returns The answer's body.
 * @throws {NotHeldError} When it answers that it has no such thing.
 * @throws {LinkError} When the link fails, or it answers anything else.
 */
export async function call(
  channel: MemberChannel,
  { body, limitBytes, limitMs, method, path }: Call,
  { clock, signal }: CallMeans,
): Promise<Uint8Array<ArrayBuffer>> {
  using deadline = clock.deadline(limitMs, signal);
  const exchange = await channel.request({
    method,
    path,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    ...body === undefined ? {} : { body: new TextEncoder().encode(body) },
    headLimitMs: limitMs,
    signal: deadline.signal,
  });
  const bytes = await exchange.readAll(limitBytes, limitMs);
  if (exchange.status === 200) return bytes;
  if (exchange.status === 404) {
    throw new NotHeldError("The member does not have it");
  }
  const said = new TextDecoder().decode(bytes.subarray(0, 500))
    .replace(/\p{C}+/gu, " ").trim();
  throw new LinkError(
    "protocol",
    said === "" ? `The member answered ${exchange.status}` : said,
  );
}
