import { join } from "node:path";
import { streamChat } from "../lab/chat.ts";
import { membersSeen } from "../lab/members.ts";
import { type NodeProcess, startNode } from "../lab/node_process.ts";
import { startPacedEngine } from "../lab/paced_engine.ts";

/** What a throttled machine's share of the work did. */
export interface ThrottleRun {
  /** Share of the throttled machine, by five seconds in which requests were placed. */
  readonly shares: readonly number[];
  readonly requests: readonly number[];
  /** Before it was throttled. */
  readonly usual: number;
  /** By speed alone, while it is. */
  readonly fair: number;
  /** In the second five seconds after it was throttled. */
  readonly after10s: number;
  /** From then until it was well again. */
  readonly throttled: number;
  /** In the second five seconds after it was well again. */
  readonly back10s: number;
  /** From then on. */
  readonly back: number;
  /** Times that the share within 10 s crossed the middle between usual and fair; two are needed. */
  readonly crossings: number;
  readonly reached: boolean;
}

const MODEL = "paced";
const TOKENS = 32;
const TOKEN_MS = 10;
const THROTTLED_TO = 0.4;
const CALLERS = 3;
const BIN_S = 5;
/** Of the way from the usual share to the fair one. */
const MOVED = 0.6;
const THROTTLE_S = 20;
const RECOVER_S = 50;
const END_S = 85;

/**
 * Two equal machines in real processes, three callers in a closed loop, and one
 * machine that slows down to 40 % for half a minute, in the middle of answers.
 */
export async function measureThrottle(): Promise<ThrottleRun> {
  const folder = await Deno.makeTempDir({ prefix: "covey-bench-" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const pace = { model: MODEL, tokenMs: TOKEN_MS, promptTokenMs: 0.1 };
  const engines = [
    stack.use(startPacedEngine(pace)),
    stack.use(startPacedEngine(pace)),
  ] as const;
  const secret = crypto.getRandomValues(new Uint8Array(20)).toHex();
  const entry = stack.use(await start(folder, "first", secret, engines[0].url));
  const other = stack.use(
    await start(folder, "second", secret, engines[1].url),
  );
  await membersSeen([entry.url, other.url], 2, 15_000);
  for (const source of ["local", "node:second"]) {
    for (let n = 0; n < 4; n++) await ask(entry, n, source);
  }
  const otherId = await idOf(other);
  const startedMs = performance.now();
  const elapsedS = () => (performance.now() - startedMs) / 1000;
  const placed: { readonly atS: number; readonly onOther: boolean }[] = [];
  const slow = setTimeout(
    () => engines[1].tokenMs = TOKEN_MS / THROTTLED_TO,
    THROTTLE_S * 1000,
  );
  const well = setTimeout(
    () => engines[1].tokenMs = TOKEN_MS,
    RECOVER_S * 1000,
  );
  let n = 0;
  await Promise.all(Array.from({ length: CALLERS }, async () => {
    for (let atS = elapsedS(); atS < END_S; atS = elapsedS()) {
      const { servedBy } = await ask(entry, n++);
      placed.push({ atS, onOther: servedBy === otherId });
    }
  }));
  clearTimeout(slow);
  clearTimeout(well);
  return read(placed);
}

function read(
  placed: readonly { readonly atS: number; readonly onOther: boolean }[],
): ThrottleRun {
  const share = (fromS: number, untilS: number) => {
    const within = placed.filter(({ atS }) => atS >= fromS && atS < untilS);
    const there = within.filter(({ onOther }) => onOther);
    return { share: there.length / within.length, count: within.length };
  };
  const bins = Array.from(
    { length: END_S / BIN_S },
    (_, at) => share(at * BIN_S, (at + 1) * BIN_S),
  );
  const usual = share(BIN_S, THROTTLE_S).share;
  const fair = THROTTLED_TO / (1 + THROTTLED_TO);
  const middle = (usual + fair) / 2;
  const isLow = Array.from(
    { length: END_S / BIN_S - 2 },
    (_, at) => share((at + 1) * BIN_S, (at + 3) * BIN_S).share < middle,
  );
  const crossings = isLow.filter((low, at) => at > 0 && low !== isLow[at - 1])
    .length;
  const after10s = share(THROTTLE_S + BIN_S, THROTTLE_S + 2 * BIN_S).share;
  const back10s = share(RECOVER_S + BIN_S, RECOVER_S + 2 * BIN_S).share;
  return {
    shares: bins.map((one) => one.share),
    requests: bins.map(({ count }) => count),
    usual,
    fair,
    after10s,
    throttled: share(THROTTLE_S + 2 * BIN_S, RECOVER_S).share,
    back10s,
    back: share(RECOVER_S + 2 * BIN_S, END_S).share,
    crossings,
    reached: after10s <= usual - MOVED * (usual - fair) &&
      back10s >= fair + MOVED * (usual - fair) && crossings === 2,
  };
}

async function start(
  folder: string,
  name: string,
  secret: string,
  upstream: string,
): Promise<NodeProcess> {
  return await startNode({
    name,
    dataDir: join(folder, name),
    env: {
      COVEY_CLUSTER_SECRET: secret,
      COVEY_LINK_HOST: "127.0.0.1",
      COVEY_LINK_PORT: "0",
      COVEY_MDNS_INTERFACES: "127.0.0.1",
      COVEY_PORT: "0",
      COVEY_ROUTING: "balanced",
      COVEY_UPSTREAMS: `paced=llama-server:${upstream}`,
    },
  });
}

function ask(entry: NodeProcess, n: number, source?: string) {
  return streamChat(entry.url, {
    model: MODEL,
    text: `Request ${n}`,
    maxTokens: TOKENS,
    ...(source === undefined ? {} : { source }),
  });
}

async function idOf(node: NodeProcess): Promise<string> {
  const response = await fetch(`${node.url}/cluster/members`);
  const { members } = await response.json();
  return members.find((one: { readonly self: boolean }) => one.self).id;
}
