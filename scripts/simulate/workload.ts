import { createChance } from "./chance.ts";
import {
  jobsPerSecond,
  type Lengths,
  meanJobMs,
  type Scenario,
} from "./scenario.ts";

/** One request, the same for every policy. */
export interface Job {
  readonly n: number;
  /** When it comes, where nothing else decides that; 0 in closed loops. */
  readonly atMs: number;
  /** Index among the entry nodes. */
  readonly entry: number;
  readonly model: string;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** What the router expects: mean and median of what it cannot know better. */
  readonly meanTokens: number;
  readonly medianTokens: number;
  /** Scales its service time, wherever it runs. */
  readonly noise: number;
  /** For the router's draws. */
  readonly seed: number;
  /** Whose it is, for fairness and prefixes. */
  readonly conversation: string | null;
}

/** Prompt of each further turn grows by the answer before and this. */
const TURN_TOKENS = 60;

/**
 * Draw a scenario's jobs.
 *
 * @param scenario What to draw for.
 * @param seed Same seed, same jobs.
 * @returns The jobs in order of arrival.
 */
export function drawJobs(scenario: Scenario, seed: number): readonly Job[] {
  const { arrivals, lengths, models, nodes, noise } = scenario;
  const when = createChance(seed, "arrivals");
  const what = createChance(seed, "lengths");
  const which = createChance(seed, "models");
  const luck = createChance(seed, "noise");
  const entries = Math.max(1, nodes.filter(({ isEntry }) => isEntry).length);
  const meanGapMs = gapMs(scenario);
  const jobs: Job[] = [];
  let atMs = 0;
  let history = { conversation: "", turn: 0, tokens: 0, entry: 0 };
  for (let n = 0; n < scenario.jobs; n++) {
    if (arrivals.kind === "open") atMs += when.exponential(meanGapMs);
    if (arrivals.kind === "bursts" && n % arrivals.size === 0) {
      atMs += when.exponential(meanGapMs * arrivals.size);
    }
    const drawn = drawLength(lengths, what.normal(), what.normal());
    const entry = Math.floor(when.uniform() * entries);
    let talk: { conversation: string | null; prompt: number; entry: number } = {
      conversation: null,
      prompt: lengths.promptTokens,
      entry,
    };
    if (arrivals.kind === "conversations") {
      const turn = n % arrivals.turns;
      if (turn === 0) {
        history = { conversation: `talk-${n}`, turn: 0, tokens: 0, entry };
      }
      const prompt = history.tokens + lengths.promptTokens + TURN_TOKENS;
      history = { ...history, tokens: prompt + drawn.outputTokens };
      talk = {
        conversation: history.conversation,
        prompt,
        entry: history.entry,
      };
    }
    jobs.push({
      n,
      atMs,
      entry: talk.entry,
      model: pick(models, which.uniform()),
      promptTokens: talk.prompt,
      ...drawn,
      noise: Math.exp(noise * luck.normal()),
      seed: Math.floor(luck.uniform() * 2 ** 32),
      conversation: talk.conversation,
    });
  }
  return jobs;
}

function gapMs({ arrivals, nodes, lengths }: Scenario): number {
  if (arrivals.kind !== "open" && arrivals.kind !== "bursts") return 0;
  const jobMs = meanJobMs(lengths);
  const capacity = nodes.reduce(
    (sum, one) => sum + jobsPerSecond(one, jobMs),
    0,
  );
  return 1000 / (arrivals.load * capacity);
}

function drawLength(lengths: Lengths, seen: number, unseen: number) {
  if (lengths.kind === "fixed") {
    const { outputTokens } = lengths;
    return {
      outputTokens,
      meanTokens: outputTokens,
      medianTokens: outputTokens,
    };
  }
  const { medianTokens: base, sigma, known } = lengths;
  const blind = Math.sqrt(1 - known ** 2);
  const middle = base * Math.exp(sigma * known * seen);
  return {
    outputTokens: Math.max(
      1,
      Math.round(middle * Math.exp(sigma * blind * unseen)),
    ),
    meanTokens: middle * Math.exp((sigma * blind) ** 2 / 2),
    medianTokens: middle,
  };
}

function pick(models: Scenario["models"], at: number): string {
  let left = at;
  for (const { name, share } of models) {
    left -= share;
    if (left < 0) return name;
  }
  return models.at(-1)?.name ?? "";
}
