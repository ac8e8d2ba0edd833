/** What a model takes of a machine's memory, estimated from its header. */
export interface MemoryNeed {
  /** Size of its weights. */
  readonly weightsBytes: number;
  /** What all slots' contexts keep of their prompts and answers. */
  readonly cacheBytes: number;
  /** What a computation needs beside that. */
  readonly computeBytes: number;
  /** Layers by which it can be divided between cards and the machine's memory; absent where the header does not tell. */
  readonly layers?: number;
}

/** A model in memory. */
export interface Residency {
  /** What it is estimated to take, all together. */
  readonly memoryBytes: number;
  /** The part of it that lies on cards with memory of their own; 0 for none, absent where nobody knows. */
  readonly cardBytes?: number;
  /** Time until it leaves when nobody asks for it; null for never, and while it is in use. */
  readonly expiresInMs: number | null;
  /** Whether the operator wants it to stay. */
  readonly isPinned: boolean;
  /** Whether an answer comes from it now. */
  readonly isInUse: boolean;
}

/** Why a model can not be loaded for want of memory. */
export interface Misfit {
  /** A clause that follows the model's name: what it needs, what there is. */
  readonly reason: string;
  /** When to ask again; null where all of the machine's memory is too little. */
  readonly retryInMs: number | null;
}

/** All of it, in bytes. */
export function neededMemory(need: MemoryNeed): number {
  return need.weightsBytes + need.cacheBytes + need.computeBytes;
}
