import {
  CHUNK_BYTES,
  type PartPlace,
  type PullParts,
} from "../../domain/mod.ts";
import { type Files, ifThere } from "../../platform/mod.ts";
import { Extents } from "./extents.ts";
import type { DownloadWatch } from "./file_download.ts";
import {
  dropRelayed,
  type PartState,
  readPartState,
  writePartState,
} from "./part_state.ts";

/** Small enough that the event loop is never held for more than a millisecond or two. */
const READ_BYTES = 1024 * 1024;

/** A file of a pull, as its source describes it. */
export interface PartFile {
  /** Path of the partial file. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string | null;
  readonly etag: string | null;
}

interface Part extends PartFile {
  readonly extents: Extents;
  /** Chunks that lie here whole. */
  readonly here: Set<number>;
  /** Of them, those that members gave. */
  readonly relayed: Set<number>;
  readonly digests: Map<number, string>;
  isSaved: boolean;
}

/**
 * The partial files of one pull: it knows what lies in them whichever way it
 * came, and writes what members give. While the source is read, the download
 * writes them and tells of it.
 */
export class PartFiles implements PullParts {
  readonly weights: number;
  readonly #files: Files;
  readonly #parts: readonly Part[];
  #arrived: PartPlace[] = [];
  #run = 0;
  #saving: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;

  private constructor(
    files: Files,
    parts: readonly PartFile[],
    weights: number,
  ) {
    this.#files = files;
    this.weights = weights;
    this.#parts = parts.map((part) => ({
      ...part,
      extents: new Extents(),
      here: new Set(),
      relayed: new Set(),
      digests: new Map(),
      isSaved: true,
    }));
  }

  /**
   * Look at what an earlier try left.
   *
   * @param files The file system.
   * @param parts The files, first part first.
   * @param weights How many of them are the model.
   * @throws {FileError} When what is there can not be read.
   */
  static async open(
    files: Files,
    parts: readonly PartFile[],
    weights: number,
  ): Promise<PartFiles> {
    const opened = new PartFiles(files, parts, weights);
    for (const at of parts.keys()) await opened.#load(at);
    return opened;
  }

  get sizes(): readonly number[] {
    return this.#parts.map(({ sizeBytes }) => sizeBytes);
  }

  get sha256s(): readonly (string | null)[] {
    return this.#parts.map(({ sha256 }) => sha256);
  }

  get run(): number {
    return this.#run;
  }

  get arrived(): readonly PartPlace[] {
    return this.#arrived;
  }

  get arrivedBytes(): number {
    return this.#arrived.reduce((sum, place) => sum + this.#lengthOf(place), 0);
  }

  has({ file, position }: PartPlace): boolean {
    return this.#parts[file]?.here.has(position) ?? false;
  }

  async digest(place: PartPlace): Promise<string | null> {
    const part = this.#parts[place.file];
    if (part === undefined || !this.has(place)) return null;
    const known = part.digests.get(place.position);
    if (known !== undefined) return known;
    const run = this.#run;
    const { createHash } = await import("node:crypto");
    const hash = createHash("sha256");
    using file = await ifThere(this.#files.open(part.path));
    if (file === null) return null;
    const room = new Uint8Array(READ_BYTES);
    const start = place.position * CHUNK_BYTES;
    const length = this.#lengthOf(place);
    for (let at = 0; at < length;) {
      const most = room.subarray(0, Math.min(READ_BYTES, length - at));
      const count = await file.readInto(start + at, most);
      if (count === 0) return null;
      hash.update(most.subarray(0, count));
      at += count;
    }
    // What was read may be gone by now.
    if (run !== this.#run) return null;
    const digest = hash.digest("hex");
    part.digests.set(place.position, digest);
    return digest;
  }

  async read(
    place: PartPlace,
    room?: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const part = this.#parts[place.file];
    if (part === undefined || !this.has(place)) return null;
    const length = this.#lengthOf(place);
    const bytes = room?.subarray(0, length) ?? new Uint8Array(length);
    using file = await ifThere(this.#files.open(part.path));
    if (file === null) return null;
    const count = await file.readInto(place.position * CHUNK_BYTES, bytes);
    return bytes.subarray(0, count);
  }

  async write(
    place: PartPlace,
    bytes: Uint8Array<ArrayBuffer>,
    digest: string,
  ): Promise<void> {
    if (this.#failure !== null) throw this.#failure.error;
    const part = this.#parts[place.file];
    if (part === undefined || bytes.length !== this.#lengthOf(place)) {
      throw new RangeError("Cannot write a chunk that is none of the pull's");
    }
    {
      using file = await this.#files.openForWriting(part.path, 0o600);
      await file.write(place.position * CHUNK_BYTES, bytes);
    }
    part.digests.set(place.position, digest);
    part.relayed.add(place.position);
    const start = place.position * CHUNK_BYTES;
    this.#wrote(place.file, start, start + bytes.length);
    this.#save(part);
  }

  async drop(places: readonly PartPlace[]): Promise<void> {
    if (places.length === 0) return;
    this.#run++;
    for (const place of places) {
      const part = this.#parts[place.file];
      const start = place.position * CHUNK_BYTES;
      part?.extents.remove(start, start + this.#lengthOf(place));
      part?.here.delete(place.position);
      part?.relayed.delete(place.position);
      part?.digests.delete(place.position);
      if (part !== undefined) this.#save(part);
    }
    this.#arrived = this.#arrived.filter((place) => this.has(place));
    await this.flush();
  }

  /**
   * Forget all that members gave: a whole file is not what was published.
   *
   * @throws {FileError} When that can not be noted.
   */
  async dropRelayed(): Promise<void> {
    await this.flush();
    for (const [at, { path }] of this.#parts.entries()) {
      if (!await dropRelayed(this.#files, path)) continue;
      this.#clear(at);
      await this.#load(at);
    }
  }

  /**
   * Wait until all that is here is noted on disk: from then on a download may
   * write the files.
   *
   * @throws {FileError} When it can not be noted.
   */
  async flush(): Promise<void> {
    await this.#saving;
    if (this.#failure !== null) throw this.#failure.error;
  }

  /**
   * Follow the download of a file.
   *
   * @param at Which one.
   */
  watch(at: number): Pick<Required<DownloadWatch>, "wrote" | "dropped"> {
    return {
      wrote: (start, end) => this.#wrote(at, start, end),
      dropped: () => this.#clear(at),
    };
  }

  async #load(at: number): Promise<void> {
    const part = this.#parts[at];
    if (part === undefined) return;
    const state = await readPartState(this.#files, part.path);
    if (state === null || !isOf(part, state)) return;
    const { done, pieceBytes, relayed, sizeBytes } = state;
    for (const piece of new Set(done)) {
      const start = piece * pieceBytes;
      if (start >= sizeBytes) continue;
      this.#wrote(at, start, Math.min(sizeBytes, start + pieceBytes));
    }
    // Noted in pieces of a chunk, as `write` does.
    for (const position of relayed ?? []) part.relayed.add(position);
  }

  #clear(at: number): void {
    const part = this.#parts[at];
    if (part === undefined) return;
    this.#run++;
    part.extents.remove(0, part.sizeBytes);
    part.here.clear();
    part.relayed.clear();
    part.digests.clear();
    this.#arrived = this.#arrived.filter(({ file }) => file !== at);
  }

  #wrote(at: number, start: number, end: number): void {
    const part = this.#parts[at];
    if (part === undefined) return;
    const range = part.extents.add(start, end);
    const first = Math.floor(
      Math.max(range.start, start - CHUNK_BYTES) / CHUNK_BYTES,
    );
    for (let position = first; position * CHUNK_BYTES < range.end; position++) {
      const place = { file: at, position };
      const from = position * CHUNK_BYTES;
      const to = from + this.#lengthOf(place);
      if (from > end || to > range.end) break;
      if (from < range.start || part.here.has(position)) continue;
      part.here.add(position);
      this.#arrived.push(place);
    }
  }

  /** Writes take their turns; while one is under way, one more is enough for all that comes. */
  #save(part: Part): void {
    if (!part.isSaved) return;
    part.isSaved = false;
    this.#saving = this.#saving.then(async () => {
      part.isSaved = true;
      const { etag, here, relayed, sha256, sizeBytes } = part;
      try {
        await writePartState(this.#files, part.path, {
          sizeBytes,
          etag,
          sha256,
          pieceBytes: CHUNK_BYTES,
          done: [...here],
          relayed: [...relayed],
        });
      } catch (error) {
        this.#failure ??= { error };
      }
    });
  }

  #lengthOf({ file, position }: PartPlace): number {
    const sizeBytes = this.#parts[file]?.sizeBytes ?? 0;
    return Math.max(
      0,
      Math.min(CHUNK_BYTES, sizeBytes - position * CHUNK_BYTES),
    );
  }
}

/** Whether what was left is of the bytes that are pulled now. */
function isOf(
  { etag, sha256, sizeBytes }: PartFile,
  state: PartState,
): boolean {
  if (state.sizeBytes !== sizeBytes || state.sha256 !== sha256) return false;
  return sha256 !== null || (etag !== null && state.etag === etag);
}
