import type { JsonValue } from "../domain/mod.ts";

/** `GET /covey/memory` as `ps` shows it. */
export interface MemoryReply {
  readonly models: readonly {
    readonly node: string;
    readonly nodeName: string;
    readonly engine: string;
    readonly model: string;
    readonly state: string;
    readonly progress: number | null;
    readonly remainingMs: number | null;
    readonly reason: string | null;
    readonly retryInMs: number | null;
    readonly memoryBytes: number | null;
    /** The part of it on cards with memory of their own. */
    readonly cardBytes: number | null;
    readonly contextLength: number;
    readonly expiresInMs: number | null;
    readonly pinned: boolean | null;
    readonly inUse: boolean | null;
  }[];
}

/** `GET /covey/fit/{model}` as `fit` shows it. */
export interface FitReply {
  readonly model: string;
  /** Size of what would be pulled; null for a model that some member has. */
  readonly sizeBytes: number | null;
  /** What of it was read to know. */
  readonly readBytes: number | null;
  readonly nodes: readonly {
    readonly node: string;
    readonly nodeName: string;
    readonly engine: string | null;
    readonly weightsBytes: number | null;
    readonly cacheBytes: number | null;
    readonly computeBytes: number | null;
    readonly neededBytes: number | null;
    readonly freeBytes: number | null;
    readonly totalBytes: number | null;
    /** The part of what is needed that lies, or would lie, on cards. */
    readonly cardBytes: number | null;
    readonly cardFreeBytes: number | null;
    readonly cardTotalBytes: number | null;
    readonly contextLength: number | null;
    readonly slots: number | null;
    readonly verdict: string;
    readonly reason: string | null;
  }[];
}

/** What `POST /covey/models/{model}/unload` answers. */
export interface UnloadReply {
  readonly model: string;
  readonly outcomes: readonly {
    readonly node: string;
    readonly nodeName: string;
    readonly engine: string;
    readonly unloaded: boolean;
    readonly reason: string | null;
  }[];
}

/** How commands read them: undefined where the form is unknown. */
export interface MemoryParsers {
  memory(body: JsonValue): MemoryReply | undefined;
  fit(body: JsonValue): FitReply | undefined;
  unload(body: JsonValue): UnloadReply | undefined;
}

/** Load the parsers. Fields they do not know are ignored. */
export async function loadMemoryParsers(): Promise<MemoryParsers> {
  const { z } = await import("zod");
  const number = z.number().nullable();
  const text = z.string().nullable();
  // Older nodes do not speak of cards.
  const known = number.catch(null);
  const memory = z.object({
    models: z.array(z.object({
      node: z.string(),
      nodeName: z.string(),
      engine: z.string(),
      model: z.string(),
      state: z.string(),
      progress: number,
      remainingMs: number,
      reason: text,
      retryInMs: number,
      memoryBytes: number,
      cardBytes: known,
      contextLength: z.number(),
      expiresInMs: number,
      pinned: z.boolean().nullable(),
      inUse: z.boolean().nullable(),
    })),
  });
  const fit = z.object({
    model: z.string(),
    sizeBytes: known,
    readBytes: known,
    nodes: z.array(z.object({
      node: z.string(),
      nodeName: z.string(),
      engine: text,
      weightsBytes: number,
      cacheBytes: number,
      computeBytes: number,
      neededBytes: number,
      freeBytes: number,
      totalBytes: number,
      cardBytes: known,
      cardFreeBytes: known,
      cardTotalBytes: known,
      contextLength: number,
      slots: number,
      verdict: z.string(),
      reason: text,
    })),
  });
  const unload = z.object({
    model: z.string(),
    outcomes: z.array(z.object({
      node: z.string(),
      nodeName: z.string(),
      engine: z.string(),
      unloaded: z.boolean(),
      reason: text,
    })),
  });
  return {
    memory: (body) => memory.safeParse(body).data,
    fit: (body) => fit.safeParse(body).data,
    unload: (body) => unload.safeParse(body).data,
  };
}
