import type { CalledTool, Client, ClientCases, Target } from "./client_case.ts";
import { TOOL } from "./client_case.ts";

/** What each client is asked to do. */
export const COLUMNS = [
  "chat",
  "stream",
  "tools",
  "JSON schema",
  "embeddings float",
  "embeddings base64",
  "abort",
] as const;

/** One of them. */
export type Column = typeof COLUMNS[number];

/** What came of it. */
export type Outcome =
  | { readonly kind: "passed" }
  /** The client, or its dialect, has no such thing. */
  | { readonly kind: "none" }
  | { readonly kind: "failed"; readonly why: string };

const BOUND_MS = 60_000;
const STOP_BOUND_MS = 8_000;

/**
 * Let one client do everything against one target.
 *
 * @param client The client.
 * @param target Where it is pointed.
 * @param nodes Base addresses of all nodes, to see that nothing runs on.
 * @returns What came of each.
 */
export async function runClient(
  client: Client,
  target: Target,
  nodes: readonly string[],
): Promise<Readonly<Record<Column, Outcome>>> {
  const cases = client.connect(target);
  const vectors: (readonly number[])[] = [];
  const embedding = (embed: ClientCases["embedFloat"]) =>
    embed === undefined ? undefined : async () => {
      vectors.push(checkVector(await embed(), vectors[0]));
    };
  return {
    chat: await outcomeOf(async () => checkText(await cases.chat())),
    stream: await outcomeOf(async () => {
      const texts = await cases.stream();
      checkText(texts.join(""));
      if (texts.length < 2) throw new Error("All came at once");
    }),
    tools: await outcomeOf(async () => checkCall(await cases.tools())),
    "JSON schema": await outcomeOf(async () =>
      checkVerdict(await cases.schema())
    ),
    "embeddings float": await outcomeOf(embedding(cases.embedFloat)),
    "embeddings base64": await outcomeOf(embedding(cases.embedBase64)),
    abort: await outcomeOf(async () => {
      await cases.abort();
      await nothingRuns(nodes);
    }),
  };
}

async function outcomeOf(
  act: (() => Promise<void>) | undefined,
): Promise<Outcome> {
  if (act === undefined) return { kind: "none" };
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await Promise.race([
      act(),
      new Promise((_, reject) => {
        timer = setTimeout(
          () => reject(new Error(`Nothing within ${BOUND_MS} ms`)),
          BOUND_MS,
        );
      }),
    ]);
    return { kind: "passed" };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "failed", why };
  } finally {
    clearTimeout(timer);
  }
}

function checkText(text: string): void {
  if (text === "") throw new Error("No text came");
  if (text.includes("\ufffd")) throw new Error("A character was cut");
}

function checkCall({ name, input }: CalledTool): void {
  if (name !== TOOL.name) throw new Error(`Called "${name}"`);
  const { on } = input as { on?: unknown };
  if (typeof on !== "boolean") {
    throw new Error(`Called with ${JSON.stringify(input)}`);
  }
}

function checkVerdict(value: unknown): void {
  const { verdict, sure } = value as { verdict?: unknown; sure?: unknown };
  if ((verdict === "yes" || verdict === "no") && typeof sure === "boolean") {
    return;
  }
  throw new Error(`Not of the schema: ${JSON.stringify(value)}`);
}

/** EMB-01: the same vector, in its full width, whichever way it came. */
function checkVector(
  vector: readonly number[],
  other: readonly number[] | undefined,
): readonly number[] {
  if (vector.length < 8) throw new Error(`Only ${vector.length} numbers`);
  if (other !== undefined) {
    const same = other.length === vector.length &&
      other.every((value, n) => Math.abs(value - (vector[n] ?? NaN)) < 1e-5);
    if (!same) throw new Error("float and base64 differ");
  }
  return vector;
}

/** SSE-11: what nobody reads any more stops on every node. */
async function nothingRuns(nodes: readonly string[]): Promise<void> {
  const endMs = performance.now() + STOP_BOUND_MS;
  for (;;) {
    const running = await Promise.all(nodes.map(inFlightAt));
    if (running.every((count) => count === 0)) return;
    if (performance.now() > endMs) {
      throw new Error(`Still running: ${running.join(" and ")}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function inFlightAt(url: string): Promise<number> {
  const { workers } = await (await fetch(`${url}/fleet/health`)).json();
  return workers.reduce(
    (sum: number, { inFlight }: { inFlight: number }) => sum + inFlight,
    0,
  );
}
