/**
 * Asks the API with small bodies that unfold to large ones and writes what each
 * made of this process's memory: a process of its own, since what is resident
 * belongs to a whole process and tests share theirs.
 */
import type { Transform } from "node:stream";
import {
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
} from "node:zlib";
import { apiUnderTest, LOOPBACK, post } from "./api_under_test.ts";

/** What came of the bodies in one coding. */
export interface Unfolding {
  readonly coding: string;
  readonly sentBytes: number;
  readonly statuses: readonly number[];
  /** The most that each request after the first took beyond what was resident before it. */
  readonly grownBytes: readonly number[];
}

const MIB = 1024 * 1024;
const BODY_MIB = 64;
const REQUESTS = 6;

/** What a gigabyte of zeros begins with: nobody reads further. */
async function bombOf(coder: Transform): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  coder.on("data", (bytes) => parts.push(new Uint8Array(bytes)));
  const ended = new Promise<void>((resolve) => coder.once("end", resolve));
  const zeros = new Uint8Array(MIB);
  for (let n = 0; n < BODY_MIB; n++) {
    if (!coder.write(zeros)) {
      await new Promise<void>((resolve) => coder.once("drain", resolve));
    }
  }
  coder.end();
  await ended;
  return await new Blob(parts).bytes();
}

/** Do something and see how far resident memory rises meanwhile. */
async function grownBy(act: () => Promise<void>): Promise<number> {
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (typeof collect === "function") collect();
  const before = Deno.memoryUsage().rss;
  let most = before;
  const look = () => {
    most = Math.max(most, Deno.memoryUsage().rss);
  };
  const watching = setInterval(look, 1);
  await act();
  clearInterval(watching);
  look();
  return most - before;
}

if (import.meta.main) {
  const limitBytes = Number(Deno.args[0]);
  const { api } = apiUnderTest({ bodyLimitBytes: limitBytes });
  const coders: Readonly<Record<string, Transform>> = {
    gzip: createGzip({ level: 9 }),
    br: createBrotliCompress({
      params: { [constants.BROTLI_PARAM_QUALITY]: 2 },
    }),
    zstd: createZstdCompress(),
  };
  const unfoldings: Unfolding[] = [];
  for (const [coding, coder] of Object.entries(coders)) {
    const bytes = await bombOf(coder);
    const statuses: number[] = [];
    const grownBytes: number[] = [];
    for (let n = 0; n < REQUESTS; n++) {
      const grown = await grownBy(async () => {
        const asked = post("/v1/chat/completions", bytes, {
          "content-encoding": coding,
        });
        statuses.push((await api.handle(asked, LOOPBACK)).status);
      });
      // The first one loads what undoes the coding, and fills the heap.
      if (n > 0) grownBytes.push(grown);
    }
    unfoldings.push({ coding, sentBytes: bytes.length, statuses, grownBytes });
  }
  const told = new TextEncoder().encode(JSON.stringify(unfoldings));
  await new Response(told).body?.pipeTo(Deno.stdout.writable);
}
