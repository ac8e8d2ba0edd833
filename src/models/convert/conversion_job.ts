import {
  type ConversionView,
  Fault,
  type FileDigest,
} from "../../domain/mod.ts";
import type { Clock, Files, FileStat } from "../../platform/mod.ts";
import { openDigester } from "../digest_file.ts";
import { checkSpace, type PlacePorts } from "../pull/pull_place.ts";
import { viewOf } from "./conversion_view.ts";
import { ConvertedFile } from "./converted_file.ts";

const FILE_MODE = 0o644;
/** Written at once; the node's other work goes on in between, and while a slice of it is made. */
const PIECE_BYTES = 1024 * 1024;
/** While the machine answers callers, the share of time that converting has. */
const BUSY_SHARE = 0.25;
const SHORTEST_REST_MS = 5;
const LONGEST_REST_MS = 500;

/** What making a file needs. */
export interface JobPorts
  extends Pick<PlacePorts, "freeDiskBytes" | "totalDiskBytes"> {
  readonly files: Files;
  readonly clock: Clock;
  /** Whether the machine answers requests, before which this stands back. */
  isBusy(): boolean;
}

/** A file that was made. */
export interface MadeFile {
  readonly digest: FileDigest;
  /** Time that making it took, without the rests for others' work. */
  readonly tookMs: number;
}

/**
 * Make the file that a model becomes, a piece at a time.
 *
 * @param ports What it needs.
 * @param from The original's files, first part first.
 * @param to Where the file is written.
 * @param tell Called with how far it is.
 * @param signal Aborting it ends the work.
 * @throws {Fault} When it does not fit, or the original does not do or changes.
 * @throws {GgufError} When the original is no sound GGUF.
 * @throws {FileError} When a file can not be read or written.
 */
export async function makeFile(
  ports: JobPorts,
  from: readonly string[],
  to: string,
  tell: (view: ConversionView) => void,
  signal: AbortSignal,
): Promise<MadeFile> {
  const { clock, files, isBusy } = ports;
  const before = await statsOf(files, from);
  using made = await ConvertedFile.open(files, from);
  const totalBytes = made.sizeBytes;
  checkSpace(ports, totalBytes);
  using out = await files.openForWriting(to, FILE_MODE);
  const digester = await openDigester();
  const room = new Uint8Array(PIECE_BYTES);
  const beginMs = clock.monotonic();
  let tookMs = 0;
  for (let doneBytes = 0; doneBytes < totalBytes;) {
    signal.throwIfAborted();
    const elapsedMs = clock.monotonic() - beginMs;
    tell(viewOf("converting", doneBytes, totalBytes, elapsedMs));
    const startMs = clock.monotonic();
    const count = await made.readInto(doneBytes, room);
    const piece = room.subarray(0, count);
    digester.update(piece);
    await out.write(doneBytes, piece);
    doneBytes += count;
    const spentMs = clock.monotonic() - startMs;
    tookMs += spentMs;
    if (isBusy()) await clock.sleep(restAfter(spentMs), signal);
  }
  tell(viewOf("publishing", totalBytes, totalBytes));
  const startMs = clock.monotonic();
  await out.sync();
  tookMs += clock.monotonic() - startMs;
  if (await statsOf(files, from) !== before) {
    throw new Fault(
      "conflict",
      "The model that is converted was changed meanwhile; ask again",
    );
  }
  return { digest: digester.finish(), tookMs: Math.round(tookMs) };
}

async function statsOf(
  files: Files,
  paths: readonly string[],
): Promise<string> {
  const stats: FileStat[] = [];
  for (const path of paths) stats.push(await files.stat(path));
  return JSON.stringify(stats);
}

function restAfter(spentMs: number): number {
  const restMs = spentMs * (1 / BUSY_SHARE - 1);
  return Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, restMs));
}
