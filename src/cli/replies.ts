import type { Conditions, JsonValue, MachineReading } from "../domain/mod.ts";

/** `GET /cluster/members` as commands show it. */
export interface MembersReply {
  readonly cluster: { readonly id: string | null } | null;
  readonly members: readonly {
    readonly id: string;
    readonly name: string;
    readonly self: boolean;
    readonly health: string;
    readonly draining: boolean;
    readonly addresses: readonly string[];
    readonly version: string | null;
    readonly state?: string | undefined;
    readonly role?: string | undefined;
    readonly tier?: number | null | undefined;
    readonly seat?: string | null | undefined;
    readonly note?: string | null | undefined;
    /** Undefined where the node does not watch its machine. */
    readonly machine?: MachineReading | undefined;
    readonly conditions?: Conditions | undefined;
  }[];
}

/** `GET /v1/models` as commands show it. */
export interface ModelsReply {
  readonly data: readonly {
    readonly id: string;
    readonly capabilities: readonly string[];
    readonly context_length: number;
    readonly nodes: readonly string[];
    readonly warm: boolean;
  }[];
}

/** `GET /covey/decisions/{id}` as `explain` shows it; null is infinite or unknown. */
export interface DecisionReply {
  readonly id: string;
  readonly model: string;
  readonly source: string;
  readonly policy: string;
  readonly seed: number;
  readonly promptTokens: number;
  readonly maxOutputTokens: number | null;
  readonly expectedOutputTokens: number | null;
  readonly chosen:
    | { readonly node: string; readonly engine: string; readonly model: string }
    | null;
  readonly predictedMs: number | null;
  /** Absent in a reply of an older node. */
  readonly predictedP80Ms?: number | null | undefined;
  readonly candidates: readonly {
    readonly node: string;
    readonly nodeName: string;
    readonly engine: string;
    readonly model: string;
    readonly eligible: boolean;
    readonly reason: string;
    readonly estimateMs: number | null;
    readonly factor: number | null;
    readonly terms: {
      readonly queueMs: number | null;
      readonly loadMs: number | null;
      readonly evictionMs: number | null;
      readonly prefillMs: number | null;
      readonly decodeMs: number | null;
      readonly hopMs: number | null;
    };
  }[];
  /** Candidates that were weighed beyond those; absent for none. */
  readonly unlisted?: number | undefined;
  /** What the node does now about the model's demand; absent for nothing. */
  readonly help?:
    | { readonly state: string; readonly reason: string }
    | undefined;
  readonly attempts: readonly {
    readonly id: string;
    readonly node: string;
    readonly engine: string;
    readonly model: string;
    readonly startedAtMs: number | null;
    readonly endedAtMs: number | null;
    readonly outcome: string;
    readonly reason: string | null;
  }[];
  readonly actual: {
    readonly ttftMs: number | null;
    readonly totalMs: number | null;
    readonly outputTokens: number | null;
  } | null;
}

/** How commands read what the node answers: undefined where the form is unknown. */
export interface ReplyParsers {
  members(body: JsonValue): MembersReply | undefined;
  models(body: JsonValue): ModelsReply | undefined;
  decision(body: JsonValue): DecisionReply | undefined;
}

/**
 * Load the parsers. Fields they do not know are ignored, so that this command
 * can ask a newer node.
 *
 * @returns One parser a route.
 */
export async function loadReplyParsers(): Promise<ReplyParsers> {
  const { z } = await import("zod");
  const number = z.number().nullable();
  // What an older or newer node does not say is not known.
  const known = number.catch(null);
  const flag = z.boolean().nullable().catch(null);
  const machine = z.object(
    {
      temperatureCelsius: known,
      isThrottled: flag,
      isPowerCapped: flag,
      isLowPower: flag,
      isOnBattery: flag,
      batteryShare: known,
      clockShare: known,
      cpuCount: known,
      busyThreads: known,
      ownBusyThreads: known,
      load1: known,
      ownLoad1: known,
      memoryTotalBytes: known,
      memoryAvailableBytes: known,
      memoryPressure: z.enum(["normal", "high", "critical"]).nullable()
        .catch(null),
      diskBusyShare: known,
      diskFreeBytes: known,
      diskTotalBytes: known,
      gpuBusyShare: known,
      foreignGpuProcesses: known,
      cardMemoryTotalBytes: known,
      cardMemoryFreeBytes: known,
    } satisfies Record<keyof MachineReading, unknown>,
  );
  const members = z.object({
    cluster: z.object({ id: z.string().nullable() }).nullable(),
    members: z.array(z.object({
      id: z.string(),
      name: z.string(),
      self: z.boolean(),
      health: z.string(),
      draining: z.boolean(),
      addresses: z.array(z.string()),
      version: z.string().nullable(),
      state: z.string().optional(),
      role: z.string().optional(),
      tier: z.number().nullish(),
      seat: z.string().nullish(),
      note: z.string().nullish(),
      machine: machine.optional(),
      conditions: z.object({ ok: z.boolean(), reasons: z.array(z.string()) })
        .optional(),
    })),
  });
  const models = z.object({
    data: z.array(z.object({
      id: z.string(),
      capabilities: z.array(z.string()).default([]),
      context_length: z.number(),
      nodes: z.array(z.string()).default([]),
      warm: z.boolean(),
    })),
  });
  const place = z.object({
    node: z.string(),
    engine: z.string(),
    model: z.string(),
  });
  const decision = z.object({
    id: z.string(),
    model: z.string(),
    source: z.string(),
    policy: z.string(),
    seed: z.number(),
    promptTokens: z.number(),
    maxOutputTokens: number,
    expectedOutputTokens: number,
    chosen: place.nullable(),
    predictedMs: number,
    predictedP80Ms: number.optional(),
    candidates: z.array(place.extend({
      nodeName: z.string(),
      eligible: z.boolean(),
      reason: z.string(),
      estimateMs: number,
      factor: number,
      terms: z.object({
        queueMs: number,
        loadMs: number,
        evictionMs: number,
        prefillMs: number,
        decodeMs: number,
        hopMs: number,
      }),
    })),
    unlisted: z.number().optional(),
    help: z.object({ state: z.string(), reason: z.string() }).optional(),
    attempts: z.array(place.extend({
      id: z.string(),
      startedAtMs: number,
      endedAtMs: number,
      outcome: z.string(),
      reason: z.string().nullable(),
    })),
    actual: z.object({ ttftMs: number, totalMs: number, outputTokens: number })
      .nullable(),
  });
  return {
    members: (body) => members.safeParse(body).data,
    models: (body) => models.safeParse(body).data,
    decision: (body) => decision.safeParse(body).data,
  };
}
