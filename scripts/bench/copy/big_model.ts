import { join } from "node:path";
import { encodeCoveyTiny } from "../../fixtures/covey_tiny.ts";

const PIECE_BYTES = 4 * 1024 * 1024;

/**
 * Write a model: a sound header, then noise up to the wanted size, no two
 * chunks of it alike.
 *
 * @param models The models folder, made where there is none.
 * @param name Name of the model.
 * @returns Its path.
 */
export async function writeBigModel(
  models: string,
  name: string,
  sizeBytes: number,
): Promise<string> {
  await Deno.mkdir(models, { recursive: true });
  const path = join(models, `${name}.gguf`);
  using file = await Deno.open(path, { write: true, create: true });
  const head = encodeCoveyTiny();
  await writeAll(file, head);
  const noise = new Uint8Array(PIECE_BYTES);
  for (let at = 0; at < noise.length; at += 65_536) {
    crypto.getRandomValues(noise.subarray(at, at + 65_536));
  }
  for (let at = head.length; at < sizeBytes; at += PIECE_BYTES) {
    crypto.getRandomValues(noise.subarray(0, 64));
    await writeAll(file, noise.subarray(0, sizeBytes - at));
  }
  return path;
}

/**
 * Have this machine's memory at hand: a virtual machine may have lent what is
 * free to its host, and then pays for each page of a new file at first touch.
 *
 * @param folder On the disk that will be written.
 * @returns Megabytes a second at which new bytes were written there.
 */
export async function touchMemory(
  folder: string,
  sizeBytes: number,
): Promise<number> {
  const path = join(folder, "touched");
  const piece = new Uint8Array(PIECE_BYTES);
  const startedMs = performance.now();
  {
    using file = await Deno.open(path, { write: true, create: true });
    for (let at = 0; at < sizeBytes; at += PIECE_BYTES) {
      await writeAll(file, piece);
    }
  }
  const tookMs = performance.now() - startedMs;
  await Deno.remove(path);
  return sizeBytes / 1000 / tookMs;
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += await file.write(bytes.subarray(at));
  }
}
