import { X509Certificate } from "node:crypto";
import type { Clock } from "@covey/core/platform";
import type { LinkCredentials } from "../link/dial.ts";
import { LinkError } from "../link/link_error.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { BulkConnection } from "./bulk_connection.ts";
import type { ChunkMap } from "./chunk_map.ts";
import type { Chunk } from "./chunk_plan.ts";
import { NotHeldError } from "./copy_error.ts";
import type { ChunkSource } from "./gather.ts";
import { formatModelPath } from "./model_path.ts";

/** What a member's source needs. */
export interface MemberSourceOptions {
  readonly name: string;
  readonly root: string;
  readonly channel: MemberChannel;
  readonly credentials: LinkCredentials;
  readonly clock: Clock;
}

/** A member as a source of one model's chunks; owns its bulk connection, which all lanes share. */
export class MemberSource implements ChunkSource, Disposable {
  readonly name: string;
  readonly #options: MemberSourceOptions;
  #connection: Promise<BulkConnection> | null = null;
  #held: ChunkMap | null = null;

  constructor(options: MemberSourceOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Learn what it has by now; null for all. */
  learn(held: ChunkMap | null): void {
    this.#held = held;
  }

  get gatherer(): string | null {
    return this.#held === null ? null : this.#options.channel.keyHash;
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
    const { channel, root } = this.#options;
    const opening = this.#connection ?? this.#open(signal);
    this.#connection = opening;
    try {
      const connection = await opening;
      return await connection.get(
        {
          path: formatModelPath({ kind: "file", root, file: chunk.file }),
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
