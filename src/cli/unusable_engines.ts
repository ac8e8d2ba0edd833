import { escapeUnprintable, type JsonValue } from "../domain/mod.ts";
import { nodeNames } from "./node_names.ts";

/** An engine of a member that is there and takes work, which itself can do none. */
export interface UnusableEngine {
  readonly node: string;
  readonly nodeName: string;
  readonly engine: string;
  /** Why, as its node says it. */
  readonly reason: string;
}

/**
 * Find engines that can do nothing in what a node answered to
 * `GET /fleet/health`. Those of members that are away, or drain, are no news.
 *
 * @param body The answer; one whose form is unknown names none.
 */
export async function findUnusableEngines(
  body: JsonValue,
): Promise<readonly UnusableEngine[]> {
  const { z } = await import("zod");
  const fleet = z.object({
    workers: z.array(z.object({
      id: z.string(),
      name: z.string(),
      state: z.string(),
      draining: z.boolean(),
      checks: z.object({
        engines: z.array(z.object({
          id: z.string(),
          state: z.string(),
          reason: z.string().nullable(),
        })),
      }),
    })),
  });
  const workers = fleet.safeParse(body).data?.workers ?? [];
  return workers
    .filter(({ draining, state }) =>
      !draining && (state === "HEALTHY" || state === "DEGRADED")
    )
    .flatMap(({ checks, id, name }) =>
      checks.engines
        .filter(({ state }) => state === "unavailable")
        .map((engine) => ({
          node: id,
          nodeName: name,
          engine: engine.id,
          reason: engine.reason ?? "it does not say why",
        }))
    );
}

/**
 * Write them for a terminal, a line each.
 *
 * @param engines What was found.
 */
export function formatUnusableEngines(
  engines: readonly UnusableEngine[],
): readonly string[] {
  const names = nodeNames(engines);
  return engines.map(({ engine, node, nodeName, reason }) =>
    escapeUnprintable(
      `Engine ${engine} on ${
        names.get(node) ?? nodeName
      } can not be used: ${reason}`,
    )
  );
}
