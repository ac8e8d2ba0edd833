import assert from "node:assert/strict";
import { Fault } from "../../src/domain/mod.ts";
import { ManualClock } from "../../src/platform/mod.ts";
import { chatRequest } from "../fakes/chat_request.ts";
import type { CountingMetrics } from "../fakes/counting_metrics.ts";
import { setUpRouter } from "../fakes/router_setup.ts";
import {
  answering,
  nodeIdOf,
  offerOf,
  ROLE,
  type Script,
  text,
} from "../fakes/scripted_engine.ts";
import { ScriptedNode } from "../fakes/scripted_node.ts";
import { CHAT, simulatedNodes, until } from "../fakes/simulated_pair.ts";
import { StaleLink } from "../fakes/stale_link.ts";

const NEVER = new AbortController().signal;

const FAILING: Script = {
  kind: "answer",
  status: 500,
  contentType: "application/json",
  steps: ["{}"],
};
const RATE_LIMITED: Script = { ...FAILING, status: 429, retryAfter: "7" };
const LINK_DOWN: Script = {
  kind: "throw",
  at: "start",
  error: new Fault("link_failed", "The link broke"),
};

/** Ask so many times, and read what comes, whatever it is. */
async function ask(
  { router }: Pick<ReturnType<typeof setUpRouter>, "router">,
  times = 1,
): Promise<void> {
  for (let n = 0; n < times; n++) {
    await router.route(chatRequest(), NEVER)
      .then((answer) => new Response(answer.body).text())
      .catch(() => {});
  }
}

/** One answer that goes on elsewhere where its engine dies. */
async function continued(): Promise<CountingMetrics> {
  await using nodes = simulatedNodes({
    models: [CHAT],
    faults: [{ dieAfterTokens: 4 }, {}],
  });
  const request = chatRequest({ maxOutputTokens: 8, resumable: true });
  const answer = await until(nodes.clock, nodes.router.route(request, NEVER));
  await until(nodes.clock, new Response(answer.body).text());
  return nodes.metrics;
}

/** One request that is taken back at a peer, because a slot here is free sooner. */
async function withdrawn(): Promise<CountingMetrics> {
  const clock = new ManualClock();
  const there = new ScriptedNode(nodeIdOf(2), () => 1000);
  const peer = there.createRouter(() => [], clock);
  const link = new StaleLink({
    clock,
    entry: nodeIdOf(1),
    node: nodeIdOf(2),
    peer,
  });
  const here = new ScriptedNode(nodeIdOf(1), (n) => n === 1 ? 500 : 1000);
  const router = here.createRouter(() => [link], clock);
  const asked = [1000, 100, 100].map(async (maxOutputTokens) => {
    const answer = await router.route(chatRequest({ maxOutputTokens }), NEVER);
    return await new Response(answer.body).text();
  });
  await until(clock, Promise.all(asked));
  return here.metrics;
}

/** One request whose inputs go to two engines. */
async function divided(): Promise<CountingMetrics> {
  await using nodes = simulatedNodes({
    models: [{ ...CHAT, capability: "embedding" }],
    faults: [{}, {}],
  });
  const request = chatRequest({
    capability: "embedding",
    stream: false,
    body: { input: Array(32).fill("input") },
    promptTokens: 3200,
    maxOutputTokens: null,
    inputCount: 32,
  });
  await until(nodes.clock, nodes.router.route(request, NEVER));
  return nodes.metrics;
}

/** Each metric by which an operator sees what the router did, and what makes it move. */
const MOVES: readonly {
  readonly metric: string;
  readonly by: string;
  readonly move: () => Promise<CountingMetrics>;
  readonly value: number;
}[] = [
  {
    metric: "covey_bindings_total{place=self}",
    by: "an attempt that enters this node's own queue",
    move: async () => {
      const setup = setUpRouter(() => answering("x"));
      await ask(setup);
      return setup.metrics;
    },
    value: 1,
  },
  {
    metric: "covey_bindings_total{place=peer}",
    by: "an attempt that enters a peer's",
    move: async () => {
      const setup = setUpRouter(() => answering("x"), [() => answering("y")]);
      setup.router.drain(true);
      await ask(setup);
      return setup.metrics;
    },
    value: 1,
  },
  {
    metric: "covey_withdrawals_total{result=moved}",
    by: "a waiting attempt that is taken back",
    move: withdrawn,
    value: 1,
  },
  {
    metric: "covey_attempts_total{outcome=withdrawn}",
    by: "the same",
    move: withdrawn,
    value: 1,
  },
  {
    metric: "covey_attempts_total{outcome=failed}",
    by: "an engine's 500",
    move: async () => {
      const setup = setUpRouter(() => FAILING, [() => answering("y")]);
      await ask(setup);
      return setup.metrics;
    },
    value: 1,
  },
  {
    metric: "covey_attempt_failures_total{code=engine_failed}",
    by: "the same",
    move: async () => {
      const setup = setUpRouter(() => FAILING, [() => answering("y")]);
      await ask(setup);
      return setup.metrics;
    },
    value: 1,
  },
  {
    metric: "covey_attempt_failures_total{code=link_failed}",
    by: "a link that is down",
    move: async () => {
      const setup = setUpRouter(() => answering("x"), [() => LINK_DOWN], {
        offers: [offerOf({ model: "other" })],
        peerOffers: [offerOf()],
      });
      await ask(setup);
      return setup.metrics;
    },
    value: 1,
  },
  {
    metric: "covey_kept_prompt_tokens_total",
    by: "a prompt that comes again where it was answered",
    move: async () => {
      const setup = setUpRouter(() => answering("x"));
      await ask(setup, 2);
      return setup.metrics;
    },
    value: 10,
  },
  {
    metric: "covey_divided_requests_total",
    by: "inputs that two engines embed sooner than one",
    move: divided,
    value: 1,
  },
  {
    metric: "covey_failovers_total{at=before_content}",
    by: "the attempt that follows it",
    move: async () => {
      const setup = setUpRouter(() => FAILING, [() => answering("y")]);
      await ask(setup);
      return setup.metrics;
    },
    value: 1,
  },
  {
    metric: "covey_failovers_total{at=mid_stream}",
    by: "an answer that goes on elsewhere",
    move: continued,
    value: 1,
  },
  {
    metric: "covey_cooldowns_total",
    by: "a 429",
    move: async () => {
      const setup = setUpRouter(() => RATE_LIMITED, [() => answering("y")]);
      await ask(setup);
      assert.equal(setup.metrics.gaugeOf("covey_engines_resting"), 1);
      await setup.clock.advance(7000);
      assert.equal(setup.metrics.gaugeOf("covey_engines_resting"), 0);
      return setup.metrics;
    },
    value: 1,
  },
  {
    metric: "covey_breakers_opened_total{scope=engine}",
    by: "five failures of an engine",
    move: async () => {
      const setup = setUpRouter(() => FAILING);
      await ask(setup, 7);
      return setup.metrics;
    },
    value: 1,
  },
  {
    metric: "covey_breakers_opened_total{scope=member}",
    by: "five failures of a link",
    move: async () => {
      const setup = setUpRouter(() => answering("x"), [() => LINK_DOWN], {
        offers: [offerOf({ model: "other" })],
        peerOffers: [offerOf()],
      });
      await ask(setup, 7);
      return setup.metrics;
    },
    value: 1,
  },
  {
    metric: "covey_requests_total{outcome=broken_off,capability=chat}",
    by: "a stream that breaks with nobody to go on",
    move: async () => {
      const setup = setUpRouter(() => ({
        kind: "answer",
        steps: [ROLE, text("a"), {
          fail: new Fault("engine_failed", "It died"),
        }],
      }));
      await ask(setup);
      return setup.metrics;
    },
    value: 1,
  },
];

for (const { by, metric, move, value } of MOVES) {
  Deno.test(`${metric} is moved by ${by}`, async () => {
    const { counts } = await move();
    assert.equal(counts.get(metric), value, JSON.stringify([...counts]));
  });
}

Deno.test("covey_breakers counts breakers by scope and state, whatever the number of members", async () => {
  const setup = setUpRouter(() => FAILING, [() => answering("y")]);
  const states = ({ metrics }: typeof setup) =>
    metrics.seriesOf("covey_breakers").filter(({ value }) => value > 0)
      .map(({ labels, value }) =>
        `${labels?.["scope"]} ${labels?.["state"]} ${value}`
      );
  assert.equal(setup.metrics.seriesOf("covey_breakers").length, 6);
  assert.deepEqual(states(setup), ["engine closed 2", "member closed 2"]);
  const alone = setUpRouter(() => FAILING);
  await ask(alone, 5);
  assert.deepEqual(states(alone), ["engine open 1", "member closed 1"]);
  await alone.clock.advance(30_000);
  assert.deepEqual(states(alone), ["engine half_open 1", "member closed 1"]);
});
