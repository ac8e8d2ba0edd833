import type { ZodType } from "zod";
import {
  CAPABILITIES,
  type Capability,
  escapeUnprintable,
} from "../domain/mod.ts";
import { bad, type BadConfig } from "./given.ts";
import type { EngineConfig } from "./node_config.ts";

/** The engines of covey.jsonc, or what is wrong with them. */
export type EngineList =
  | { readonly kind: "read"; readonly engines: readonly EngineConfig[] }
  | BadConfig;

/**
 * Parse `engines` of covey.jsonc (design.md 8): simulated ones and
 * commands, with defaults for whatever is left out but ids and command lines.
 *
 * @param value The parsed JSON.
 */
export async function parseEngineList(value: unknown): Promise<EngineList> {
  const parsed = (await buildSchema()).safeParse(value);
  if (parsed.success) {
    const engines = parsed.data;
    const taken = new Set<string>();
    for (const { id } of engines) {
      if (taken.has(id)) {
        return badEngines("", `two engines are called "${id}"`);
      }
      taken.add(id);
    }
    return { kind: "read", engines };
  }
  const [issue] = parsed.error.issues;
  return badEngines(
    pathOf(issue?.path ?? []),
    issue?.message ?? "not accepted",
  );
}

async function buildSchema(): Promise<ZodType<readonly EngineConfig[]>> {
  // zod takes 9 MB: only who lists engines pays for it here.
  const { z } = await import("zod");
  const id = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:\/@-]{0,127}$/, {
    error:
      "give 1 to 128 letters, digits or . _ : / @ -, a letter or digit first",
  });
  function between(least: number, most: number) {
    return z.number({ error: `give a number from ${least} to ${most}` })
      .min(least, { error: `give a number from ${least} to ${most}` })
      .max(most, { error: `give a number from ${least} to ${most}` });
  }
  function whole(least: number, most: number) {
    const error = `give a whole number from ${least} to ${most}`;
    return z.int({ error }).min(least, { error }).max(most, { error });
  }
  const capability = z.enum(CAPABILITIES as [Capability, ...Capability[]], {
    error: `give one of ${CAPABILITIES.join(", ")}`,
  });
  const model = z.strictObject({
    id,
    capability: capability.default("chat"),
    loadMs: between(0, 3_600_000).default(0),
    prefillTokensPerSecond: between(0.001, 1e9).default(2_000),
    decodeTokensPerSecond: between(0.001, 1e9).default(30),
    batchSlowdown: between(0, 100).default(0.3),
    noise: between(0, 1).default(0),
    slots: whole(1, 1_024).default(1),
    contextLength: whole(16, 16_777_216).default(8_192),
    cachedPrompts: whole(0, 4_096).default(64),
  });
  const noFaults = { errorRate: 0, stallMs: 0, dieAfterTokens: null };
  const faults = z.strictObject({
    errorRate: between(0, 1).default(0),
    stallMs: between(0, 3_600_000).default(0),
    dieAfterTokens: whole(0, 1_000_000_000).nullable().default(null),
  }).default(noFaults);
  const simulated = z.strictObject({
    kind: z.literal("simulated"),
    id,
    models: z.array(model, { error: "give a list of models" })
      .min(1, { error: "give at least one model" })
      .max(1_024, { error: "give at most 1024 models" }),
    maxLoaded: whole(1, 1_024).nullable().default(null),
    faults,
  });
  const program = {
    id,
    command: z.array(z.string().max(4_096).regex(/^[^\0]*$/), {
      error: "give a list of texts, the program first",
    }).min(1, { error: "give the program" })
      .max(256, { error: "give at most 256 arguments" }),
    slots: whole(1, 1_024).default(1),
    timeLimitMs: whole(100, 86_400_000).default(300_000),
  };
  const command = z.strictObject({
    kind: z.literal("command"),
    id,
    models: z.array(
      z.discriminatedUnion("capability", [
        z.strictObject({
          ...program,
          capability: z.literal("speech"),
          output: z.literal("wav", {
            error: 'give "wav"; Covey converts it to other formats',
          }).default("wav"),
          voice: z.string().max(128).exactOptional(),
        }),
        z.strictObject({
          ...program,
          capability: z.literal("transcription"),
          output: z.enum([
            "text",
            "sphinx",
            "whisper-json",
            "whisper-json-full",
          ], {
            error: "give text, sphinx, whisper-json or whisper-json-full",
          }).default("text"),
          language: z.string().max(32).exactOptional(),
        }),
      ], { error: 'give a capability, "speech" or "transcription"' }),
      { error: "give a list of models" },
    ).min(1, { error: "give at least one model" })
      .max(64, { error: "give at most 64 models" }),
  });
  const engine = z.discriminatedUnion("kind", [simulated, command], {
    error: 'this build knows no other kinds than "simulated" and "command" yet',
  });
  return z.array(engine, { error: "give a list of engines" })
    .max(256, { error: "give at most 256 engines" });
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.map((part) =>
    typeof part === "number" ? `[${part}]` : `.${String(part)}`
  ).join("");
}

function badEngines(path: string, problem: string): BadConfig {
  const line = `covey.jsonc engines${path}: ${problem}`;
  return bad("covey.jsonc", escapeUnprintable(line.slice(0, 400)));
}
