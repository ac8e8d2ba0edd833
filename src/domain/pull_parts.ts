/** Where a chunk of `CHUNK_BYTES` lies among the files of a pull. */
export interface PartPlace {
  /** Position of its file. */
  readonly file: number;
  /** Position of the chunk in the file. */
  readonly position: number;
}

/**
 * The files of a pull as far as they have come: members that want the same read
 * them, and what they give is put into them. Nothing of it counts before the
 * pull has compared whole files with what their source published.
 */
export interface PullParts {
  /** Sizes of the files in bytes: the model's, first part first, then what goes with it. */
  readonly sizes: readonly number[];
  /** How many of them are the model itself. */
  readonly weights: number;
  /** SHA-256 that the source publishes of each, or null. */
  readonly sha256s: readonly (string | null)[];
  /** Grows with each time that chunks which were here do not count any more. */
  readonly run: number;
  /** Chunks that lie here whole, in the order in which they came; within a run it only grows. */
  readonly arrived: readonly PartPlace[];
  /** What lies here whole, in bytes. */
  readonly arrivedBytes: number;
  /** Whether a chunk lies here whole. */
  has(place: PartPlace): boolean;
  /**
   * SHA-256 of a chunk that is here, in lower-case hexadecimal.
   *
   * @returns Null where it is not here.
   * @throws {Error} When it can not be read.
   */
  digest(place: PartPlace): Promise<string | null>;
  /**
   * Read a chunk as it lies on disk.
   *
   * @param room Memory for a chunk that may be used for the result.
   * @returns Null where it is not here.
   * @throws {Error} When it can not be read.
   */
  read(
    place: PartPlace,
    room?: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer> | null>;
  /**
   * Put a chunk that a member gave in its place.
   *
   * @param bytes Lent until this resolves.
   * @param digest Their SHA-256, as the caller found it.
   * @throws {Error} When it can not be written.
   */
  write(
    place: PartPlace,
    bytes: Uint8Array<ArrayBuffer>,
    digest: string,
  ): Promise<void>;
  /** Count chunks as missing again: they are not what they should be. */
  drop(places: readonly PartPlace[]): Promise<void>;
}
