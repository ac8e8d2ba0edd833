import { Fault } from "../domain/mod.ts";
import { readAtMost, tooLarge } from "./bytes.ts";

/** Codings by their HTTP name, and what undoes them. */
const CODINGS: Readonly<Record<string, Unfold>> = {
  gzip: (bytes, limit) => unfoldDeflated("gzip", bytes, limit),
  "x-gzip": (bytes, limit) => unfoldDeflated("gzip", bytes, limit),
  deflate: (bytes, limit) => unfoldDeflated("deflate", bytes, limit),
  br: (bytes, limit) => unfoldDense("brotliDecompress", bytes, limit),
  zstd: (bytes, limit) => unfoldDense("zstdDecompress", bytes, limit),
};

/** Undoes a coding; resolves with undefined where more than the limit would come of it. */
type Unfold = (
  bytes: Uint8Array<ArrayBuffer>,
  limitBytes: number,
) => Promise<Uint8Array<ArrayBuffer> | undefined>;

/** The runtime unfolds all that it is handed at once: of this, a thousand times as much. */
const SLICE_BYTES = 1024;

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
  const unfold = CODINGS[coding];
  if (unfold === undefined) {
    throw new Fault(
      "unsupported_media_type",
      `Cannot read a body with content-encoding "${coding}"; accepted are ${ACCEPTED}`,
      { param: "content-encoding" },
    );
  }
  let plain: Uint8Array<ArrayBuffer> | undefined;
  try {
    plain = await unfold(bytes, limitBytes);
  } catch (error) {
    throw new Fault(
      "invalid_request",
      `The request body is no whole "${coding}" data`,
      { param: "content-encoding", cause: error },
    );
  }
  if (plain === undefined) throw tooLarge(limitBytes);
  return plain;
}

async function unfoldDeflated(
  format: CompressionFormat,
  bytes: Uint8Array<ArrayBuffer>,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  let at = 0;
  const slices = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(at, at += SLICE_BYTES));
    },
  }, { highWaterMark: 0 });
  return await readAtMost(
    slices.pipeThrough(new DecompressionStream(format)),
    limitBytes,
  );
}

/**
 * A slice of any size may unfold to gigabytes here, so these are undone by what
 * counts its output. The module costs 9 MB and comes on first use.
 */
async function unfoldDense(
  by: "brotliDecompress" | "zstdDecompress",
  bytes: Uint8Array<ArrayBuffer>,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const zlib = await import("node:zlib");
  return await new Promise((resolve, reject) => {
    zlib[by](
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
