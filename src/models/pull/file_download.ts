import { Fault } from "../../domain/mod.ts";
import type { Clock, Entropy, Files } from "../../platform/mod.ts";
import { checkStatus, type HubAnswer, type HubHttp } from "./hub_http.ts";
import type { Pace } from "./pace.ts";
import {
  dropPart,
  isWhole,
  type PartState,
  readPartState,
  withoutRelayed,
  writePartState,
} from "./part_state.ts";
import { retry } from "./retry.ts";

const WORKERS = 4;
/** Times that a source may change under our hands. */
const MOST_CHANGES = 3;
const CONTENT_RANGE = /^bytes (\d+)-(\d+)\/(\d+)$/;

/** Bytes of a piece unless told otherwise. */
export const PIECE_BYTES = 16 * 1024 * 1024;

/** A file somewhere else. */
export interface RemoteFile {
  readonly url: URL;
  /** As the source listed it, or null. */
  readonly sizeBytes: number | null;
  /** As the source published it, or null. */
  readonly sha256: string | null;
}

/** What a download needs. */
export interface DownloadPorts {
  readonly files: Files;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly http: HubHttp;
  readonly pace: Pace;
  readonly pieceBytes: number;
}

/** Told of a file as it comes. */
export interface DownloadWatch {
  /** The bytes that are here, and their number where it is known. */
  tell(doneBytes: number, totalBytes: number | null): void;
  /** Everything from `start` to before `end` lies in the file now. */
  wrote?(start: number, end: number): void;
  /** Nothing of what lay in the file counts any more. */
  dropped?(): void;
}

/** What was found out about the source's file. */
export interface Fetched {
  readonly sha256: string | null;
  /** Strong ETag, or null. */
  readonly etag: string | null;
}

/** The source's bytes are others than those that were begun with. */
class SourceChanged extends Error {
  override readonly name = "SourceChanged";
}

/**
 * Fetch a file into a partial one, going on where an earlier try ended. Only a
 * strong ETag or a published digest lets bytes of two answers be joined: a
 * source that has neither, or knows no ranges, is read from its beginning.
 *
 * @param ports What it needs.
 * @param remote The file.
 * @param part Path of the partial file, its folder being there.
 * @param watch Told of what comes.
 * @param signal Aborting it ends the download; what is here stays.
 * @returns Once every byte was written; they are not compared with a digest yet.
 * @throws {Fault} `hub_failed` or `not_found` when the source does not give it.
 * @throws {FileError} When it can not be written.
 */
export async function downloadFile(
  ports: DownloadPorts,
  remote: RemoteFile,
  part: string,
  watch: DownloadWatch,
  signal: AbortSignal,
): Promise<Fetched> {
  for (let changes = 0; changes <= MOST_CHANGES; changes++) {
    const run = new FileDownload(ports, remote, part, watch, signal);
    try {
      return await run.run();
    } catch (error) {
      if (!(error instanceof SourceChanged)) throw error;
      watch.dropped?.();
      await dropPart(ports.files, part);
    }
  }
  throw new Fault("hub_failed", "The file changes while it is fetched");
}

/**
 * Find out what tells a file's bytes apart from others, without fetching them.
 *
 * @param ports What it needs.
 * @param remote The file.
 * @param signal Aborting it ends the question.
 * @returns Its size too, null where the server gives it no ranges.
 * @throws {Fault} `hub_failed` or `not_found` when the source does not answer for it.
 */
export async function lookAtFile(
  ports: DownloadPorts,
  remote: RemoteFile,
  signal: AbortSignal,
): Promise<Fetched & { readonly sizeBytes: number | null }> {
  const run = new FileDownload(ports, remote, "", { tell() {} }, signal);
  const { etag, sha256, state } = await run.look();
  return { etag, sha256, sizeBytes: state?.sizeBytes ?? null };
}

/** One pass over a file, from what is here to its end. */
class FileDownload {
  readonly #ports: DownloadPorts;
  readonly #remote: RemoteFile;
  readonly #part: string;
  readonly #watch: DownloadWatch;
  readonly #signal: AbortSignal;
  #doneBytes = 0;
  #saving: Promise<void> = Promise.resolve();

  constructor(
    ports: DownloadPorts,
    remote: RemoteFile,
    part: string,
    watch: DownloadWatch,
    signal: AbortSignal,
  ) {
    this.#ports = ports;
    this.#remote = remote;
    this.#part = part;
    this.#watch = watch;
    this.#signal = signal;
  }

  async run(): Promise<Fetched> {
    const { files } = this.#ports;
    const kept = await readPartState(files, this.#part);
    const expected = this.#remote.sha256;
    if (kept !== null && isWhole(kept) && expected === kept.sha256) {
      // Its digest tells whether it is right: there is nothing to ask for.
      if (expected !== null) return { sha256: expected, etag: kept.etag };
    }
    const found = await this.look();
    const { etag, sha256 } = found;
    if (found.state === null) {
      await this.#drop();
      await this.#whole();
      return { sha256, etag };
    }
    let { state } = found;
    // Nothing tells whether what members gave is right.
    const sound = kept !== null && sha256 === null
      ? withoutRelayed(kept)
      : kept;
    if (sound !== null && isSameSource(sound, state)) {
      const { done, pieceBytes, relayed } = sound;
      state = { ...state, pieceBytes, done, ...relayed ? { relayed } : {} };
      if (done.length !== kept?.done.length) this.#watch.dropped?.();
    } else await this.#drop();
    await this.#pieces(state);
    return { sha256, etag };
  }

  async #drop(): Promise<void> {
    this.#watch.dropped?.();
    await dropPart(this.#ports.files, this.#part);
  }

  /** Ask for one byte: it tells size, validator, and whether ranges are known. */
  look(): Promise<Fetched & { readonly state: PartState | null }> {
    return retry(this.#ports, async () => {
      const { http, pieceBytes } = this.#ports;
      const headers = { range: "bytes=0-0" };
      await using answer = await http.get(
        this.#remote.url,
        headers,
        this.#signal,
      );
      const sha256 = this.#remote.sha256 ?? answer.sha256;
      const etag = strongEtag(answer);
      const whole = { state: null, sha256, etag };
      checkPlain(answer);
      // A server that knows no ranges, or none of an empty file.
      if (answer.status === 200 || answer.status === 416) return whole;
      checkStatus(answer, "file");
      const size = Number(rangeOf(answer)?.[2]);
      if (!Number.isSafeInteger(size) || size === 0) return whole;
      this.#checkSize(size);
      if (etag === null && sha256 === null) return whole;
      const state = { sizeBytes: size, etag, sha256, pieceBytes, done: [] };
      return { state, sha256, etag };
    }, this.#signal);
  }

  /** Read the file from its beginning in one go. */
  async #whole(): Promise<void> {
    await retry(this.#ports, async () => {
      const { files, http } = this.#ports;
      this.#watch.dropped?.();
      await files.remove(this.#part);
      this.#doneBytes = 0;
      await using answer = await http.get(this.#remote.url, {}, this.#signal);
      checkStatus(answer, "file");
      checkPlain(answer);
      const length = answer.headers.get("content-length");
      const size = length === null ? this.#remote.sizeBytes : Number(length);
      if (size !== null) this.#checkSize(size);
      let end = 0;
      const count = await this.#write(
        answer,
        0,
        size ?? Infinity,
        size,
        (bytes) => this.#watch.wrote?.(0, end += bytes),
      );
      if (size !== null && count < size) {
        throw new TypeError("The answer ended early");
      }
    }, this.#signal);
  }

  async #pieces(state: PartState): Promise<void> {
    const { files } = this.#ports;
    const count = Math.ceil(state.sizeBytes / state.pieceBytes);
    const done = new Set(state.done.filter((at) => at < count));
    const lengthOf = (at: number) =>
      Math.min(state.pieceBytes, state.sizeBytes - at * state.pieceBytes);
    for (const at of done) {
      const start = at * state.pieceBytes;
      this.#doneBytes += lengthOf(at);
      this.#watch.wrote?.(start, start + lengthOf(at));
    }
    this.#watch.tell(this.#doneBytes, state.sizeBytes);
    const missing: number[] = [];
    for (let at = 0; at < count; at++) if (!done.has(at)) missing.push(at);
    // Written first: bytes of a part without a state are never trusted.
    await writePartState(files, this.#part, { ...state, done: [...done] });
    const stop = new AbortController();
    const work = async () => {
      for (;;) {
        stop.signal.throwIfAborted();
        const at = missing.shift();
        if (at === undefined) return;
        await this.#piece(state, at, lengthOf(at), stop.signal);
        done.add(at);
        await this.#save({ ...state, done: [...done] });
      }
    };
    const workers = Array.from({ length: WORKERS }, async () => {
      try {
        await work();
      } catch (error) {
        stop.abort(error);
        throw error;
      }
    });
    const [failed] = (await Promise.allSettled(workers)).filter((one) =>
      one.status === "rejected"
    );
    this.#signal.throwIfAborted();
    if (failed !== undefined) throw stop.signal.reason;
  }

  #save(state: PartState): Promise<void> {
    const write = () => writePartState(this.#ports.files, this.#part, state);
    return this.#saving = this.#saving.then(write);
  }

  async #piece(
    state: PartState,
    at: number,
    length: number,
    stop: AbortSignal,
  ): Promise<void> {
    const start = at * state.pieceBytes;
    const end = start + length;
    let from = start;
    const ends = AbortSignal.any([this.#signal, stop]);
    await retry(this.#ports, async () => {
      const { http } = this.#ports;
      const before = from;
      await using answer = await http.get(
        this.#remote.url,
        {
          range: `bytes=${from}-${end - 1}`,
          ...(state.etag === null ? {} : { "if-range": state.etag }),
        },
        ends,
      );
      if (answer.status === 200 || answer.status === 416) {
        throw new SourceChanged();
      }
      checkStatus(answer, "file");
      checkPlain(answer);
      const [first, last, size] = rangeOf(answer) ?? [];
      const etag = strongEtag(answer);
      if (
        first !== from || last === undefined || last >= end ||
        size !== state.sizeBytes ||
        (state.etag !== null && etag !== null && etag !== state.etag)
      ) throw new SourceChanged();
      try {
        await this.#write(answer, from, end - from, state.sizeBytes, (n) => {
          from += n;
          this.#watch.wrote?.(start, from);
        });
      } catch (error) {
        if (from > before && error instanceof TypeError) return "progress";
        throw error;
      }
      if (from < end) {
        if (from > before) return "progress";
        throw new TypeError("The answer ended early");
      }
      return "done";
    }, ends);
  }

  /** Write an answer's body at a place; more than was asked for is a fault of the source. */
  async #write(
    answer: HubAnswer,
    offset: number,
    most: number,
    totalBytes: number | null,
    wrote: (bytes: number) => void,
  ): Promise<number> {
    const { files, pace } = this.#ports;
    using file = await files.openForWriting(this.#part, 0o600);
    let count = 0;
    for await (const piece of answer.pieces()) {
      if (count + piece.length > most) throw new SourceChanged();
      await pace.take(piece.length, this.#signal);
      await file.write(offset + count, piece);
      count += piece.length;
      wrote(piece.length);
      this.#doneBytes += piece.length;
      this.#watch.tell(this.#doneBytes, totalBytes);
    }
    return count;
  }

  #checkSize(sizeBytes: number): void {
    const listed = this.#remote.sizeBytes;
    if (listed === null || listed === sizeBytes) return;
    throw new Fault(
      "hub_failed",
      `The file has ${sizeBytes} bytes, the hub lists ${listed}`,
    );
  }
}

function isSameSource(kept: PartState, now: PartState): boolean {
  if (kept.sizeBytes !== now.sizeBytes) return false;
  if (kept.sha256 !== null && kept.sha256 === now.sha256) return true;
  return kept.sha256 === now.sha256 && kept.etag !== null &&
    kept.etag === now.etag;
}

/** Sizes, ranges and digests are of the bytes as they lie at the source. */
function checkPlain({ headers, status }: HubAnswer): void {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity" || status > 299) return;
  throw new Fault(
    "hub_failed",
    `The source sends the file compressed (${
      JSON.stringify(encoding.slice(0, 40))
    }), which it was asked not to: name an address that gives it as it is, or see whether a proxy on the way does so`,
  );
}

function rangeOf({ headers, status }: HubAnswer): number[] | null {
  if (status !== 206) return null;
  const match = CONTENT_RANGE.exec(headers.get("content-range") ?? "");
  return match === null ? null : match.slice(1).map(Number);
}

/** A weak validator says that bytes are alike, not that they are the same. */
function strongEtag({ headers }: HubAnswer): string | null {
  const etag = headers.get("etag");
  return etag !== null && /^"[\x21\x23-\x7e]{0,200}"$/.test(etag) ? etag : null;
}
