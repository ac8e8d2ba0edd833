import assert from "node:assert/strict";
import { type ApiReply, COMMANDS, runCli } from "../../src/cli/mod.ts";
import { parseNodeConfig } from "../../src/config/mod.ts";
import {
  attemptIdOf,
  type DecisionRecord,
  type JsonValue,
  parseDecisionId,
  parseNodeId,
} from "../../src/domain/mod.ts";
import { createFakeContext } from "./fake_context.ts";

const SELF = "00000000-0000-4000-8000-000000000001";
const PEER = "00000000-0000-4000-8000-000000000002";

function answered(body: JsonValue): ApiReply {
  return { kind: "answered", body };
}

const MEMBERS = answered({
  cluster: { id: "c0ffee00-0000-4000-8000-000000000000" },
  members: [
    {
      id: SELF,
      name: "ada",
      self: true,
      health: "HEALTHY",
      draining: false,
      addresses: [],
      version: "1.2.3",
      tier: 1,
    },
    {
      id: PEER,
      name: "pi\u001b[2J",
      self: false,
      health: "DEGRADED",
      draining: true,
      addresses: ["192.0.2.2:11412", "[fd00::2]:11412"],
      version: null,
      later: "ignored",
    },
  ],
});
const MODELS = answered({
  object: "list",
  data: [
    {
      id: "qwen/3-8b",
      capabilities: ["chat", "completion"],
      context_length: 32_768,
      nodes: [SELF, PEER],
      warm: true,
    },
    {
      id: "covey-tiny-embed",
      capabilities: ["embedding"],
      context_length: 512,
      nodes: [SELF],
      warm: false,
    },
  ],
});

async function run(
  args: readonly string[],
  replies: Readonly<Record<string, ApiReply>> = {},
) {
  const context = createFakeContext(replies);
  const code = await runCli(COMMANDS, args, context);
  return {
    code,
    out: context.out.join("\n"),
    err: context.err.join("\n"),
    asked: context.asked,
  };
}

Deno.test("secret makes 32 characters that the configuration accepts", async () => {
  const { code, out } = await run(["secret"]);
  assert.equal(code, 0);
  assert.match(out, /^[0-9a-hjkmnp-tv-z]{32}$/);
  const config = await parseNodeConfig({
    env: { HOME: "/h", COVEY_CLUSTER_SECRET: out },
    flags: [],
    file: null,
    readFile: () => Promise.reject(new Error("not asked for")),
    facts: { hostname: "h", platformDataDir: "/d", cwd: "/" },
  });
  assert.equal(config.kind, "ok");
  assert.equal(JSON.parse((await run(["secret", "--json"])).out).secret, out);
});

Deno.test("version asks no node", async () => {
  const { out, asked } = await run(["version", "--json"]);
  assert.deepEqual(JSON.parse(out), { version: "1.2.3" });
  assert.deepEqual(asked, []);
});

Deno.test("members prints the table and escapes what peers call themselves", async () => {
  const replies = { "/cluster/members": MEMBERS };
  const { code, out } = await run(["members"], replies);
  assert.equal(code, 0);
  assert.deepEqual(out.split("\n"), [
    "Cluster c0ffee00-0000-4000-8000-000000000000",
    "   NAME         HEALTH              TIER  VERSION  ADDRESSES                        ID",
    `*  ada          healthy             1     1.2.3    –                                ${SELF}`,
    `   pi\\u001b[2J  degraded, draining  –     –        192.0.2.2:11412 [fd00::2]:11412  ${PEER}`,
  ]);
  const json = await run(["members", "--json"], replies);
  assert(MEMBERS.kind === "answered");
  assert.deepEqual(JSON.parse(json.out), MEMBERS.body);
});

Deno.test("members tells two of one name apart and prints notes", async () => {
  const base = {
    health: "HEALTHY",
    draining: false,
    addresses: [],
    version: "1",
  };
  const members = [
    {
      ...base,
      id: "aaaaaaaa-0000-4000-8000-000000000001",
      name: "pi",
      self: true,
      note: "It was refused",
    },
    {
      ...base,
      id: "bbbbbbbb-0000-4000-8000-000000000002",
      name: "pi",
      self: false,
      state: "unseated",
      role: "controller",
    },
  ];
  const { out } = await run(["members"], {
    "/cluster/members": answered({ cluster: { id: "c" }, members }),
  });
  assert.match(out, /pi~aaaaaaaa/);
  assert.match(out, /pi~bbbbbbbb +healthy, unseated, controller/);
  assert.match(out, /^pi~aaaaaaaa: It was refused$/m);
});

Deno.test("members says that a node without a secret works alone", async () => {
  const { out } = await run(["members"], {
    "/cluster/members": answered({ cluster: null, members: [] }),
  });
  assert.match(out, /^No cluster: .*COVEY_CLUSTER_SECRET/);
});

Deno.test("models prints models", async () => {
  const replies = { "/v1/models": MODELS };
  assert.deepEqual((await run(["models"], replies)).out.split("\n"), [
    "MODEL             CAPABILITIES     CONTEXT  NODES  STATE",
    "qwen/3-8b         chat completion    32768      2  warm",
    "covey-tiny-embed  embedding            512      1  cold",
  ]);
  // What speaks has no context: a number would be no fact.
  const voice = {
    id: "espeak-ng",
    capabilities: ["speech"],
    context_length: 16_777_216,
    nodes: [SELF],
    warm: true,
  };
  const spoken = { "/v1/models": answered({ data: [voice] }) };
  assert.match((await run(["models"], spoken)).out, /speech +– +1/);
  const none = { "/v1/models": answered({ data: [] }) };
  assert.match((await run(["models"], none)).out, /put a GGUF file/);
  for (const words of [["models", "list"], ["list"], ["ls", "--json"]]) {
    assert.equal((await run(words, none)).code, 0, words.join(" "));
  }
  assert.equal((await run(["models", "list", "x"], none)).code, 2);
});

Deno.test("status tells of a node that is ready and of one that starts", async () => {
  const replies = { "/cluster/members": MEMBERS, "/v1/models": MODELS };
  const ready = await run(["status"], {
    ...replies,
    "/readyz": answered({ status: "ready" }),
  });
  assert.equal(ready.code, 0);
  assert.match(ready.out, /^Node ada is ready\nCluster c0ffee/);
  const starting: ApiReply = {
    kind: "refused",
    status: 503,
    message: "The node answered with status 503",
    body: { status: "starting", waitingFor: ["models"] },
  };
  const early = await run(["status"], { ...replies, "/readyz": starting });
  assert.equal(early.code, 1);
  assert.match(early.out, /^Node ada is starting \(waiting for models\)/);
  const json = await run(["status", "--json"], {
    ...replies,
    "/readyz": starting,
  });
  const { ready: isReady, members, models } = JSON.parse(json.out);
  assert.deepEqual([isReady, members.length, models.length], [false, 2, 2]);
});

Deno.test("status names engines that can not be used, of members that take work", async () => {
  const worker = (name: string, more: Record<string, JsonValue>) => ({
    id: name,
    name,
    state: "DEGRADED",
    draining: false,
    checks: {
      engines: [
        {
          id: "box",
          state: "unavailable",
          reason: "box can not be reached\u001b",
        },
        { id: "embedded", state: "degraded", reason: "It is busy" },
      ],
    },
    ...more,
  });
  const workers = [
    worker("ada", {}),
    worker("pi", { state: "OFFLINE" }),
    worker("ben", { draining: true }),
  ];
  const replies = {
    "/cluster/members": MEMBERS,
    "/v1/models": MODELS,
    "/readyz": answered({ status: "ready" }),
    "/fleet/health": answered({ workers }),
  };
  const { out } = await run(["status"], replies);
  assert.deepEqual(out.split("\n").filter((line) => line.startsWith("Eng")), [
    "Engine box on ada can not be used: box can not be reached\\u001b",
  ]);
  const json = await run(["status", "--json"], replies);
  assert.equal(JSON.parse(json.out).unusable[0].engine, "box");
});

Deno.test("HW-01 status tells what is known of the machine and nothing else", async () => {
  const said = {
    isOnBattery: true,
    batteryShare: 0.735,
    load1: 9.25,
    cpuCount: 4,
    temperatureCelsius: null,
    memoryPressure: "unheard of",
  };
  const self = {
    id: SELF,
    name: "ada",
    self: true,
    health: "DEGRADED",
    draining: false,
    addresses: [],
    version: "1.2.3",
    conditions: { ok: false, reasons: ["is busy with other work"] },
    machine: said,
  };
  const { out } = await run(["status"], {
    "/cluster/members": answered({ cluster: null, members: [self] }),
    "/v1/models": MODELS,
    "/readyz": answered({ status: "ready" }),
  });
  assert.deepEqual(out.split("\n").slice(1, 3), [
    "Machine: on battery at 74 %, load 9.3 on 4 processors",
    "Degraded: this node is busy with other work",
  ]);
});

Deno.test("commands say why the node gave no answer", async () => {
  const refusal: ApiReply = {
    kind: "refused",
    status: 401,
    message: "A key is needed\u001b[2J",
    body: undefined,
  };
  for (const name of ["status", "members", "models", "ps"]) {
    const { code, out, err } = await run([name]);
    assert.deepEqual([code, out, err], [1, "", "No node answers"]);
    const refused = await run([name], {
      "/readyz": refusal,
      "/cluster/members": refusal,
      "/v1/models": refusal,
      "/covey/memory": refusal,
    });
    assert.deepEqual([refused.code, refused.err], [
      1,
      "A key is needed\\u001b[2J",
    ]);
    const odd = await run([name], {
      "/readyz": answered({}),
      "/cluster/members": answered([]),
      "/v1/models": answered("text"),
      "/covey/memory": answered("text"),
    });
    assert.equal(odd.code, 1);
    assert.match(odd.err, /in a form this version does not know/);
  }
});

function id<Value>(value: Value | undefined): Value {
  assert(value !== undefined);
  return value;
}

const DECISION: DecisionRecord = {
  id: id(parseDecisionId("decision-1")),
  model: "covey-tiny",
  source: "unsaid",
  policy: "balanced",
  seed: 9,
  promptTokens: 12,
  maxOutputTokens: 64,
  expectedOutputTokens: 40.25,
  chosen: { node: id(parseNodeId(PEER)), engine: "sim", model: "tiny" },
  predictedMs: 812.4,
  predictedP80Ms: 1304.2,
  candidates: [
    {
      node: id(parseNodeId(SELF)),
      nodeName: "ada",
      engine: "embedded",
      model: "covey-tiny",
      eligible: false,
      reason: "context too short",
      estimateMs: Infinity,
      factor: 1,
      terms: {
        queueMs: 0,
        loadMs: 1_200.4,
        evictionMs: 0,
        prefillMs: 5.25,
        decodeMs: 77.77,
        hopMs: 0,
      },
    },
    {
      node: id(parseNodeId(PEER)),
      nodeName: "pi",
      engine: "sim",
      model: "tiny",
      eligible: true,
      reason: "soonest",
      estimateMs: 812.4,
      factor: 2,
      terms: {
        queueMs: 100,
        loadMs: 0,
        evictionMs: 6,
        prefillMs: 50,
        decodeMs: 249,
        hopMs: 1.2,
      },
    },
  ],
  attempts: [
    {
      id: attemptIdOf(id(parseDecisionId("decision-1")), 1),
      node: id(parseNodeId(PEER)),
      engine: "sim",
      model: "tiny",
      dispatch: 3,
      startedAtMs: 0.4,
      endedAtMs: null,
      outcome: "running",
      reason: null,
    },
  ],
  actual: null,
};

Deno.test("explain prints every candidate with all its terms, and the attempts", async () => {
  const body: JsonValue = JSON.parse(JSON.stringify(DECISION));
  const { code, out } = await run(["explain", "decision-1"], {
    "/covey/decisions/decision-1": answered(body),
  });
  assert.equal(code, 0);
  assert.deepEqual(out.split("\n"), [
    "Decision decision-1: model covey-tiny, source unsaid, policy balanced, seed 9",
    "Prompt 12 tokens; answer 40.3 tokens expected, at most 64",
    "Chosen: pi / sim / tiny",
    "Predicted: 812 ms (median), four of five within 1304 ms (P80)",
    "Actual: not finished",
    "",
    "   NODE  ENGINE    MODEL       QUEUE  LOAD  EVICT  PREFILL  DECODE   HOP  FACTOR  ESTIMATE  ELIGIBLE  REASON",
    "   ada   embedded  covey-tiny      0  1200      0     5.25    77.8     0   ×1.00         –  no        context too short",
    "→  pi    sim       tiny          100     0      6       50     249  1.20   ×2.00       812  yes       soonest",
    "",
    "ATTEMPT       NODE  ENGINE  FROM  TO  OUTCOME  REASON",
    "decision-1.1  pi    sim     0.40   …  running",
  ]);
});

Deno.test("explain tells what is done about a model that too many ask for", async () => {
  const help = { state: "nowhere", reason: 'No member can: "pi" is at work' };
  const body: JsonValue = JSON.parse(JSON.stringify({ ...DECISION, help }));
  const { out } = await run(["explain", "decision-1"], {
    "/covey/decisions/decision-1": answered(body),
  });
  assert.match(out, /\n\nCopies: nowhere: No member can: "pi" is at work$/);
});

Deno.test("explain tells of a decision that chose nobody", async () => {
  const body: JsonValue = JSON.parse(JSON.stringify({
    ...DECISION,
    chosen: null,
    predictedMs: null,
    candidates: [],
    attempts: [],
  }));
  const { out } = await run(["explain", "decision-1"], {
    "/covey/decisions/decision-1": answered(body),
  });
  assert.match(out, /Chosen: nobody/);
  assert.match(out, /No candidate offers that model\n\nNo attempt was made$/);
});
