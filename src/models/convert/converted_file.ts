import { Fault } from "../../domain/mod.ts";
import type { Files, OpenFile } from "../../platform/mod.ts";
import { type GgufLayout, readGgufLayout } from "./gguf_layout.ts";
import { BF16, F16, F32, type FloatType } from "./kept_tensors.ts";
import { BLOCK_BYTES, BLOCK_WEIGHTS, quantiseQ8 } from "./q8_block.ts";
import { type ConvertedPlan, planQ8, type Segment } from "./q8_plan.ts";

/** Weights converted at once: some hundred microseconds, or a millisecond or two on a small machine. */
const SLICE_WEIGHTS = 1 << 16;
const SLICE_BLOCKS = SLICE_WEIGHTS / BLOCK_WEIGHTS;

type Room = Uint8Array<ArrayBuffer>;
type Blocks = Extract<Segment, { kind: "blocks" }>;

/**
 * A model of floats as one file of Q8_0 that is never whole anywhere: any range
 * of it is made from the original when it is read. Equal originals give equal
 * bytes on every machine.
 */
export class ConvertedFile implements Disposable {
  readonly #plan: ConvertedPlan;
  readonly #parts: readonly OpenFile[];
  readonly #floats = new Float32Array(SLICE_WEIGHTS);
  readonly #raw = new Uint8Array(SLICE_WEIGHTS * 4);
  readonly #blocks = new Uint8Array(SLICE_BLOCKS * BLOCK_BYTES);
  /** Reads take their turns: they share the memory above. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(plan: ConvertedPlan, parts: readonly OpenFile[]) {
    this.#plan = plan;
    this.#parts = parts;
  }

  /**
   * Open what a model becomes.
   *
   * @param files The file system.
   * @param paths The original's files, first part first.
   * @throws {Fault} Where there is nothing to convert.
   * @throws {GgufError} When a file is no sound GGUF.
   * @throws {FileError} When one can not be read.
   */
  static async open(
    files: Files,
    paths: readonly string[],
  ): Promise<ConvertedFile> {
    using stack = new DisposableStack();
    const parts: OpenFile[] = [];
    const layouts: GgufLayout[] = [];
    for (const path of paths) {
      const { sizeBytes } = await files.stat(path);
      const part = stack.use(await files.open(path));
      parts.push(part);
      layouts.push(await readGgufLayout(part, sizeBytes));
    }
    const plan = planQ8(layouts);
    stack.move();
    return new ConvertedFile(plan, parts);
  }

  /** How long it is. */
  get sizeBytes(): number {
    return this.#plan.sizeBytes;
  }

  /**
   * Make a range of it.
   *
   * @param offset Where the range begins.
   * @param room Its length is the range's.
   * @returns How many bytes there were; fewer than fit only at the end.
   * @throws {Fault} When the original has weights that are no numbers, or changed.
   * @throws {FileError} When the original can not be read.
   */
  readInto(offset: number, room: Room): Promise<number> {
    const made = this.#turn.then(() => this.#make(offset, room));
    // Its own caller hears of a failure.
    this.#turn = made.catch(() => {});
    return made;
  }

  [Symbol.dispose](): void {
    for (const part of this.#parts) part[Symbol.dispose]();
  }

  async #make(offset: number, room: Room): Promise<number> {
    const count = Math.max(0, Math.min(room.length, this.sizeBytes - offset));
    // Between segments lie zeros.
    room.fill(0, 0, count);
    const { segments } = this.#plan;
    for (let at = firstAfter(segments, offset); at < segments.length; at++) {
      const segment = segments[at];
      if (segment === undefined || segment.at >= offset + count) break;
      const start = Math.max(offset, segment.at);
      const end = Math.min(offset + count, segment.at + segment.length);
      const target = room.subarray(start - offset, end - offset);
      await this.#fill(segment, start - segment.at, target);
    }
    return count;
  }

  /** Make a range of one segment. */
  async #fill(segment: Segment, skip: number, target: Room): Promise<void> {
    switch (segment.kind) {
      case "bytes":
        return target.set(segment.bytes.subarray(skip, skip + target.length));
      case "copied":
        return await this.#read(segment.part, segment.from + skip, target);
      case "blocks":
        return await this.#convert(segment, skip, target);
      default: {
        const never: never = segment;
        return never;
      }
    }
  }

  async #convert(segment: Blocks, skip: number, target: Room): Promise<void> {
    const { from, part, type } = segment;
    const weightBytes = type === F32 ? 4 : 2;
    const blocks = segment.length / BLOCK_BYTES;
    for (let filled = 0; filled < target.length;) {
      const first = Math.floor((skip + filled) / BLOCK_BYTES);
      const slice = Math.min(SLICE_BLOCKS, blocks - first);
      const needed = Math.ceil((skip + target.length) / BLOCK_BYTES) - first;
      const weights = Math.min(slice, needed) * BLOCK_WEIGHTS;
      const raw = this.#raw.subarray(0, weights * weightBytes);
      const at = from + first * BLOCK_WEIGHTS * weightBytes;
      await this.#read(part, at, raw);
      toFloats(raw, type, this.#floats);
      if (!quantiseQ8(this.#floats, weights, this.#blocks)) {
        throw new Fault(
          "invalid_request",
          "The model has weights that are no numbers, or too large for Q8_0; its file may be damaged: check it with `covey models verify`",
          { param: "model" },
        );
      }
      const start = skip + filled - first * BLOCK_BYTES;
      const made = this.#blocks.subarray(
        start,
        Math.min(
          weights / BLOCK_WEIGHTS * BLOCK_BYTES,
          start + target.length - filled,
        ),
      );
      target.set(made, filled);
      filled += made.length;
    }
  }

  async #read(part: number, offset: number, room: Room): Promise<void> {
    if (await this.#parts[part]?.readInto(offset, room) === room.length) return;
    throw new Fault(
      "conflict",
      "The model that is converted was changed meanwhile; ask again",
    );
  }
}

/** The first segment that ends after a place; they lie in order. */
function firstAfter(segments: readonly Segment[], offset: number): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const segment = segments[middle];
    if (segment !== undefined && segment.at + segment.length <= offset) {
      low = middle + 1;
    } else high = middle;
  }
  return low;
}

function toFloats(raw: Room, type: FloatType, into: Float32Array): void {
  switch (type) {
    case F32:
      return into.set(new Float32Array(raw.buffer, 0, raw.length / 4));
    case F16: {
      const halves = new Float16Array(raw.buffer, 0, raw.length / 2);
      for (let at = 0; at < halves.length; at++) into[at] = halves[at] ?? 0;
      return;
    }
    case BF16: {
      const halves = new Uint16Array(raw.buffer, 0, raw.length / 2);
      const bits = new Uint32Array(into.buffer);
      for (let at = 0; at < halves.length; at++) {
        bits[at] = (halves[at] ?? 0) << 16;
      }
      return;
    }
    default: {
      const never: never = type;
      return never;
    }
  }
}
