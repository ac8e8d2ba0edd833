/**
 * Two nodes on this machine, one secret, and everything a newcomer wants to
 * see: `deno task demo` stays up until Ctrl-C, `deno task demo --once` ends
 * after the tour with one line of JSON.
 *
 * @module
 */
import { join } from "node:path";
import { writeCoveyTiny } from "./fixtures/covey_tiny.ts";
import { type ChatResult, closedLoop, streamChat } from "./lab/chat.ts";
import { listMembers, membersSeen } from "./lab/members.ts";
import { type NodeProcess, startNode } from "./lab/node_process.ts";

/** A simulated engine that is as fast on each node, as two boxes of one kind would be. */
const SIMULATED = {
  engines: [{
    kind: "simulated",
    id: "sim",
    models: [{
      id: "sim-2b",
      capability: "chat",
      loadMs: 0,
      prefillTokensPerSecond: 4000,
      decodeTokensPerSecond: 100,
      batchSlowdown: 0.3,
      noise: 0,
      slots: 1,
      contextLength: 8192,
    }],
  }],
};
const GAIN_REQUESTS = 8;
const GAIN_CONCURRENCY = 4;
const GAIN_TOKENS = 64;

/** One answer as the summary line lists it. */
interface Answer {
  readonly entry: string;
  readonly servedBy: string;
  readonly predictedMs: number;
  readonly actualMs: number;
  readonly outputTokens: number;
}

const DONE = 0;
const WRONG_USAGE = 2;
/** What a shell shows for a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/**
 * Run the demo to its end.
 *
 * @param args `--once`, or nothing.
 * @returns The exit code.
 */
async function main(args: readonly string[]): Promise<number> {
  if (args.some((arg) => arg !== "--once")) {
    say("Usage: deno task demo [--once]");
    return args.includes("--help") ? DONE : WRONG_USAGE;
  }
  const once = args.includes("--once");
  // Whenever Ctrl-C comes, no node and no folder is left behind.
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "covey-demo-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const pressed = interrupted().then(() => false);
  const shown = show(once, folder, stack).then(() => true);
  if (!await Promise.race([shown, pressed])) {
    // The nodes are taken away from it in the middle.
    shown.catch(() => {});
    return INTERRUPTED;
  }
  if (once) return DONE;
  say("anna stays up; Ctrl-C ends the demo.");
  await pressed;
  return DONE;
}

/** The tour. What it starts goes into `stack`. */
async function show(
  once: boolean,
  folder: string,
  stack: AsyncDisposableStack,
): Promise<void> {
  say("Covey demo: two nodes on this machine, found by one shared secret.\n");
  const models = join(folder, "models");
  await writeCoveyTiny(models);
  say(
    "Made covey-tiny, a model of random weights: it answers noise, really computed.",
  );
  const secret = crypto.getRandomValues(new Uint8Array(20)).toHex();
  const start = async (name: string) => {
    if (stack.disposed) throw new Error("The demo was left");
    const starting = startNode({
      name,
      dataDir: join(folder, name),
      config: SIMULATED,
      env: {
        COVEY_CLUSTER_SECRET: secret,
        COVEY_ENGINE_THREADS: "1",
        COVEY_LINK_HOST: "127.0.0.1",
        COVEY_LINK_PORT: "0",
        COVEY_MDNS_INTERFACES: "127.0.0.1",
        COVEY_MODELS_DIR: models,
        COVEY_PORT: "0",
        COVEY_ROUTING: "balanced",
      },
    });
    stack.defer(async () => {
      // One that failed has ended already, and says why to who awaits it.
      const [node] = await Promise.allSettled([starting]);
      if (node.status === "fulfilled") await node.value.end("SIGTERM");
    });
    return await starting;
  };
  const anna = await start("anna");
  const ben = await start("ben");
  const formedMs = await membersSeen([anna.url, ben.url], 2, 15_000);
  const members = await listMembers(anna.url);
  say(
    `anna and ben found each other over mDNS ${
      ms(formedMs)
    } after both were ready.\n`,
  );
  const nameOf = (id: string) =>
    members.find((member) => member.id === id)?.name ?? id;

  say(
    "Streamed chats. The first on each node loads the model; from then on the node\nknows its own speed, and predictions get close:",
  );
  const answers: Answer[] = [];
  let streamed = true;
  for (const [entry, source] of tour(anna, ben)) {
    const result = await ask(entry, source);
    streamed &&= result.streamed && result.finished;
    const answer = toAnswer(entry.name, nameOf(result.servedBy), result);
    answers.push(answer);
    const asked = source === undefined ? "" : `  (asked for ${source})`;
    say(
      `  ${answer.entry} → ${answer.servedBy}: ${answer.outputTokens} tokens, predicted ${
        ms(answer.predictedMs)
      }, took ${ms(answer.actualMs)}${asked}\n    “${
        result.text.trim().slice(0, 60)
      }…”`,
    );
  }

  const gain = await measureGain(anna);
  say(
    `\n${GAIN_REQUESTS} chats of ${GAIN_TOKENS} tokens, ${GAIN_CONCURRENCY} at a time, on simulated engines of equal speed\n(two processes share this machine's cores, so real engines could not show it here):\n  one node ${
      ms(gain.aloneMs)
    }, both ${ms(gain.togetherMs)}: ${gain.factor.toFixed(2)} times as fast.`,
  );

  await ben.end("SIGKILL");
  const after = await ask(anna, undefined);
  const survivor = toAnswer("anna", nameOf(after.servedBy), after);
  say(
    `\nben was killed. The next chat: anna → ${survivor.servedBy}, ${survivor.outputTokens} tokens in ${
      ms(survivor.actualMs)
    }.`,
  );
  say(`\nAPI: ${anna.url}/v1  (OpenAI dialect; model covey-tiny)`);
  say(
    [
      "",
      "On your own machines, the same secret on each:",
      "  npx -y deno@2.9.6 task covey secret          # once, anywhere",
      "  COVEY_CLUSTER_SECRET=… npx -y deno@2.9.6 task start",
      "",
    ].join("\n"),
  );
  const summary = {
    nodes: members.length,
    streamed,
    answers,
    formedMs: Math.round(formedMs),
    gainAtConcurrency4: Number(gain.factor.toFixed(2)),
    afterKill: survivor,
  };
  if (once) say(JSON.stringify(summary));
}

/** Who is asked, and where the answer may come from. */
function tour(
  anna: NodeProcess,
  ben: NodeProcess,
): readonly (readonly [NodeProcess, string | undefined])[] {
  return [
    [anna, "local"],
    [ben, "local"],
    [anna, undefined],
    [ben, undefined],
    [anna, "node:ben"],
  ];
}

function ask(entry: NodeProcess, source: string | undefined) {
  return streamChat(entry.url, {
    model: "covey-tiny",
    text: "Say something.",
    maxTokens: 48,
    ...(source === undefined ? {} : { source }),
  });
}

function toAnswer(entry: string, servedBy: string, result: ChatResult): Answer {
  return {
    entry,
    servedBy,
    predictedMs: result.predictedMs,
    actualMs: Math.round(result.actualMs),
    outputTokens: result.outputTokens,
  };
}

/** Time the same load on the entry node alone and on both. */
async function measureGain(entry: NodeProcess) {
  const load = (source: string | undefined) =>
    closedLoop(GAIN_REQUESTS, GAIN_CONCURRENCY, (n) =>
      streamChat(entry.url, {
        model: "sim-2b",
        text: `Request ${n}`,
        maxTokens: GAIN_TOKENS,
        ...(source === undefined ? {} : { source }),
      }));
  const aloneMs = (await load("local")).elapsedMs;
  const togetherMs = (await load(undefined)).elapsedMs;
  return { aloneMs, togetherMs, factor: aloneMs / togetherMs };
}

/** Wait for Ctrl-C or a SIGTERM. */
async function interrupted(): Promise<void> {
  const pressed = Promise.withResolvers<void>();
  const press = () => pressed.resolve();
  Deno.addSignalListener("SIGINT", press);
  Deno.addSignalListener("SIGTERM", press);
  await pressed.promise;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

// The tour's timers may still run when it was left.
if (import.meta.main) Deno.exit(await main(Deno.args));
