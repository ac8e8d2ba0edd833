import { cpuMs, residentMiB } from "../../lab/process_cost.ts";
import { type RawAnswer, RawHttp, rawPost } from "../../lab/raw_http.ts";
import type { Way } from "./way.ts";

const PATH = "/v1/chat/completions";
const TOKENS = 16;
const BLOCK = 10;

/** Latencies of one way, in milliseconds. */
export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What a way did at full load. */
export interface Saturation {
  readonly perSecond: number;
  /** Processor time of the processes in the middle, for each answer. */
  readonly cpuUs: number;
  readonly residentMiB: number;
}

/** What many streams at once came to. */
export interface Streams {
  readonly streams: number;
  readonly errors: number;
  /** Text of the first error, or null. */
  readonly firstError: string | null;
  /** Processor time of the processes in the middle, for each event. */
  readonly cpuUsPerToken: number;
  readonly residentMiB: number;
  readonly tookMs: number;
}

function chat(way: Way, tokens: number, stream: boolean) {
  return rawPost(way.url, PATH, {
    model: "fast",
    messages: [{ role: "user", content: "Say a few words about the sea" }],
    max_tokens: tokens,
    stream,
  }, way.headers);
}

function check(way: Way, answer: RawAnswer, stream: boolean): void {
  const isWhole = answer.status === 200 &&
    (!stream || answer.tail.endsWith("data: [DONE]\n\n"));
  if (isWhole) return;
  throw new Error(
    `${way.name} answered ${answer.status}: ${answer.tail.slice(-200)}`,
  );
}

/**
 * Ask for whole answers one after the other, the ways in turn.
 *
 * @param ways The ways.
 * @param requests How many each is asked, after as many again to warm up.
 * @returns Latencies in the same order.
 */
export async function latencies(
  ways: readonly Way[],
  requests: number,
): Promise<readonly Latency[]> {
  using stack = new DisposableStack();
  const lanes: {
    way: Way;
    http: RawHttp;
    request: Uint8Array<ArrayBuffer>;
    tookMs: number[];
  }[] = [];
  for (const way of ways) {
    const http = stack.use(await RawHttp.open(way.url));
    lanes.push({ way, http, request: chat(way, TOKENS, false), tookMs: [] });
  }
  for (let n = -requests; n < requests; n += BLOCK) {
    for (const { way, http, request, tookMs } of lanes) {
      for (let at = 0; at < BLOCK; at++) {
        const answer = await http.ask(request);
        check(way, answer, false);
        if (n >= 0) tookMs.push(answer.totalMs);
      }
    }
  }
  return lanes.map(({ tookMs }) => {
    const sorted = tookMs.toSorted((a, b) => a - b);
    const share = (of: number) => sorted[Math.floor(of * sorted.length)] ?? NaN;
    return { p50Ms: share(0.5), p99Ms: share(0.99) };
  });
}

/**
 * Ask for whole answers over many connections for a while.
 *
 * @param way The way.
 * @param connections Callers, each with one request at a time.
 * @param forMs How long.
 */
export async function saturate(
  way: Way,
  connections: number,
  forMs: number,
): Promise<Saturation> {
  using stack = new DisposableStack();
  const request = chat(way, TOKENS, false);
  const lanes: RawHttp[] = [];
  for (let n = 0; n < connections; n++) {
    lanes.push(stack.use(await RawHttp.open(way.url)));
  }
  const cpuBeforeMs = await cpuMs(way.pids);
  const startedMs = performance.now();
  let answers = 0;
  await Promise.all(lanes.map(async (http) => {
    while (performance.now() - startedMs < forMs) {
      check(way, await http.ask(request), false);
      answers++;
    }
  }));
  const tookMs = performance.now() - startedMs;
  return {
    perSecond: answers / tookMs * 1000,
    cpuUs: (await cpuMs(way.pids) - cpuBeforeMs) / answers * 1000,
    residentMiB: await residentMiB(way.pids),
  };
}

/**
 * Hold many streams open at once.
 *
 * @param way The way.
 * @param streams How many, each over a connection of its own.
 * @param tokens Of each answer.
 */
export async function streamAtOnce(
  way: Way,
  streams: number,
  tokens: number,
): Promise<Streams> {
  const request = chat(way, tokens, true);
  const cpuBeforeMs = await cpuMs(way.pids);
  const startedMs = performance.now();
  let events = 0;
  const outcomes = await Promise.allSettled(
    Array.from({ length: streams }, async () => {
      using http = await RawHttp.open(way.url);
      const answer = await http.ask(request);
      events += answer.events;
      check(way, answer, true);
    }),
  );
  const failed = outcomes.filter((one) => one.status === "rejected");
  return {
    streams,
    errors: failed.length,
    firstError: failed[0] === undefined ? null : String(failed[0].reason),
    cpuUsPerToken: (await cpuMs(way.pids) - cpuBeforeMs) / events * 1000,
    residentMiB: await residentMiB(way.pids),
    tookMs: performance.now() - startedMs,
  };
}
