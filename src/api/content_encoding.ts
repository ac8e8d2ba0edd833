import { Fault } from "../domain/mod.ts";
import { readAtMost, tooLarge } from "./bytes.ts";

/** Codings the runtime decompresses by itself, by their HTTP name. */
const STREAMED: Readonly<Record<string, CompressionFormat>> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  deflate: "deflate",
  br: "brotli",
};

const ACCEPTED = "identity, gzip, deflate, br and zstd";

/**
 * Undo a content coding, never making more than the limit of it: a megabyte
 * that unfolds to a gigabyte must cost neither memory nor time (REQ-03).
 *
 * @param coding The header's value, trimmed and in lower case.
 * @param bytes What was sent.
 * @param limitBytes Most bytes to make of it.
 * @returns The plain bytes.
 * @throws {Fault} `unsupported_media_type`, `body_too_large`, or `invalid_request` for a damaged body.
 */
export async function decompress(
  coding: string,
  bytes: Uint8Array<ArrayBuffer>,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (coding === "identity" || coding === "") return bytes;
  const format = STREAMED[coding];
  if (format === undefined && coding !== "zstd") {
    throw new Fault(
      "unsupported_media_type",
      `Cannot read a body with content-encoding "${coding}"; accepted are ${ACCEPTED}`,
      { param: "content-encoding" },
    );
  }
  const plain = await unfold(format, coding, bytes, limitBytes);
  if (plain === undefined) throw tooLarge(limitBytes);
  return plain;
}

async function unfold(
  format: CompressionFormat | undefined,
  coding: string,
  bytes: Uint8Array<ArrayBuffer>,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    if (format === undefined) return await unfoldZstd(bytes, limitBytes);
    return await readAtMost(
      new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)),
      limitBytes,
    );
  } catch (error) {
    throw new Fault(
      "invalid_request",
      `The request body is no whole "${coding}" data`,
      { param: "content-encoding", cause: error },
    );
  }
}

/** The web's streams lack zstd; the module that has it costs 9 MB, so it comes on first use. */
async function unfoldZstd(
  bytes: Uint8Array<ArrayBuffer>,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const { zstdDecompress } = await import("node:zlib");
  return await new Promise((resolve, reject) => {
    zstdDecompress(
      bytes,
      { maxOutputLength: limitBytes },
      (error: Error | null, plain: Uint8Array<ArrayBuffer>) => {
        if (error === null) resolve(new Uint8Array(plain));
        else if ("code" in error && error.code === "ERR_BUFFER_TOO_LARGE") {
          resolve(undefined);
        } else reject(error);
      },
    );
  });
}
