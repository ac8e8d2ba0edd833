import { X509Certificate } from "node:crypto";
import type { Clock } from "@covey/core/platform";
import type { LinkCredentials } from "../link/dial.ts";
import { LinkError } from "../link/link_error.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { BulkConnection } from "./bulk_connection.ts";
import type { Chunk } from "./chunk_plan.ts";
import { NotHeldError } from "./copy_error.ts";
import type { ChunkSource } from "./gather.ts";

/** What a member needs to be a source. */
export interface BulkSourceOptions {
  readonly name: string;
  /** Path of a file on the link. */
  pathOf(file: number): string;
  readonly channel: MemberChannel;
  readonly credentials: LinkCredentials;
  readonly clock: Clock;
}

/** Which chunks a member has, as far as that is known. */
export interface KnownChunks {
  /** Whether it has the chunk of that index. */
  has(index: number): boolean;
}

/** A member as a source of chunks; owns its bulk connection, which all lanes share. */
export class BulkSource implements ChunkSource, Disposable {
  readonly name: string;
  readonly #options: BulkSourceOptions;
  #connection: Promise<BulkConnection> | null = null;
  #held: KnownChunks | null = null;
  #gathers = false;

  constructor(options: BulkSourceOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /**
   * Learn what it has by now.
   *
   * @param held Null for all.
   * @param gathers Whether it gathers from members what it has not; one that fetches from elsewhere does not.
   */
  learn(held: KnownChunks | null, gathers: boolean = held !== null): void {
    this.#held = held;
    this.#gathers = gathers;
  }

  get gatherer(): string | null {
    return this.#gathers ? this.#options.channel.keyHash : null;
  }

  has({ index }: Chunk): boolean {
    return this.#held?.has(index) ?? true;
  }

  async fetch(
    chunk: Chunk,
    into: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
    arrived: (count: number) => void,
  ): Promise<number> {
    const { channel, pathOf } = this.#options;
    const opening = this.#connection ?? this.#open(signal);
    this.#connection = opening;
    try {
      const connection = await opening;
      return await connection.get(
        {
          path: pathOf(chunk.file),
          offset: chunk.offset,
          length: chunk.length,
          headers: channel.ownHeaders,
        },
        into,
        signal,
        arrived,
      );
    } catch (error) {
      // With any other failure it closes itself.
      if (!(error instanceof NotHeldError) && this.#connection === opening) {
        this.#connection = null;
      }
      throw error;
    }
  }

  [Symbol.dispose](): void {
    const opening = this.#connection;
    this.#connection = null;
    // One that never came about has nothing to close.
    opening?.then((connection) => connection[Symbol.dispose](), () => {});
  }

  async #open(signal: AbortSignal): Promise<BulkConnection> {
    const { channel, clock, credentials } = this.#options;
    const { checked } = channel;
    if (checked === null) {
      throw new LinkError("unreachable", "The member was not met yet");
    }
    const { address, certificate } = checked;
    const certificatePem = new X509Certificate(certificate).toString();
    return await BulkConnection.open(
      { address, certificatePem },
      credentials,
      clock,
      signal,
    );
  }
}
