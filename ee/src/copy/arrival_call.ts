import type { MemberChannel } from "../link/member_channel.ts";
import {
  type ArrivalPage,
  PAGE_LIMIT_BYTES,
  parsePage,
} from "./arrival_page.ts";
import type { ArrivalReader } from "./arrival_reader.ts";
import { call, type CallMeans } from "./copy_calls.ts";
import { PULLS_PATH } from "./pull_call.ts";

const LIMIT_MS = 2000;

/** What of a pull that runs a path asks for. */
export type ArrivalPath =
  /** What came after the arrivals that are known. */
  | {
    readonly kind: "arrived";
    readonly key: string;
    /** The list of which some are known, or null. */
    readonly run: string | null;
    readonly count: number;
  }
  | { readonly kind: "file"; readonly key: string; readonly file: number };

/** Write a path. */
export function formatArrivalPath(path: ArrivalPath): string {
  const base = `${PULLS_PATH}/${path.key}`;
  return path.kind === "file"
    ? `${base}/files/${path.file}`
    : `${base}/arrived/${path.run ?? "none"}/${path.count}`;
}

/**
 * Read a path.
 *
 * @returns Undefined where it is none of a pull's.
 */
export function parseArrivalPath(text: string): ArrivalPath | undefined {
  const [, key, rest] =
    /^\/covey\/1\/pulls\/([0-9a-f]{64})\/([0-9a-z/]{1,60})$/.exec(text) ?? [];
  if (key === undefined || rest === undefined) return undefined;
  const file = /^files\/(\d{1,4})$/.exec(rest)?.[1];
  if (file !== undefined) return { kind: "file", key, file: Number(file) };
  const [, run, count] = /^arrived\/(none|[0-9a-f]{32})\/(\d{1,9})$/
    .exec(rest) ?? [];
  return run === undefined ? undefined : {
    kind: "arrived",
    key,
    run: run === "none" ? null : run,
    count: Number(count),
  };
}

/**
 * Ask a member what has come of its pull since it was asked before.
 *
 * @throws {NotHeldError} When it pulls nothing of that key, or its version knows no such question. Else as `fetchManifest`.
 */
export async function fetchArrivals(
  channel: MemberChannel,
  key: string,
  { count, run }: Pick<ArrivalReader, "run" | "count">,
  means: CallMeans,
): Promise<ArrivalPage> {
  const bytes = await call(channel, {
    method: "GET",
    path: formatArrivalPath({ kind: "arrived", key, run, count }),
    limitBytes: PAGE_LIMIT_BYTES,
    limitMs: LIMIT_MS,
  }, means);
  return parsePage(bytes);
}
