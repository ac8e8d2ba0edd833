import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/mod.ts";
import { createSeededEntropy } from "../../src/platform/mod.ts";
import {
  parseChatRequest,
  parseFormat,
} from "../../src/engines/embedded/host/chat_request.ts";
import {
  parseChoices,
  samplingOf,
} from "../../src/engines/embedded/host/choices.ts";
import { parseHostOptions } from "../../src/engines/embedded/host/options.ts";
import { RequestError } from "../../src/engines/embedded/host/request_error.ts";
import {
  parseSampling,
  SEEDS,
} from "../../src/engines/embedded/host/sampling.ts";
import {
  chooseSlot,
  SlotPool,
} from "../../src/engines/embedded/host/slot_pool.ts";

function paramOf(act: () => unknown): string {
  try {
    act();
  } catch (problem) {
    assert.ok(problem instanceof RequestError, String(problem));
    assert.equal(problem.status, 400);
    return problem.detail.param ?? "";
  }
  return "accepted";
}

const entropy = createSeededEntropy(1);

Deno.test("parseSampling names the field that is wrong", () => {
  const hostile: readonly (readonly [JsonObject, string])[] = [
    [{ temperature: "hot" }, "temperature"],
    [{ temperature: -1 }, "temperature"],
    [{ top_p: 2 }, "top_p"],
    [{ max_tokens: 0 }, "max_tokens"],
    [{ max_tokens: 1.5 }, "max_tokens"],
    [{ logprobs: "yes" }, "logprobs"],
    [{ logprobs: 21 }, "logprobs"],
    [{ top_logprobs: 5 }, "top_logprobs"],
    [{ logprobs: true, top_logprobs: 21 }, "top_logprobs"],
    [{ stop: [1] }, "stop"],
    [{ stop: [""] }, "stop"],
    [{ logit_bias: { the: -100 } }, "logit_bias"],
    [{ logit_bias: [[1]] }, "logit_bias"],
    [{ seed: "one" }, "seed"],
    [{ seed: 1.5 }, "seed"],
  ];
  for (const [body, field] of hostile) {
    const param = paramOf(() => parseSampling(body, entropy));
    assert.ok(
      param === field || param.startsWith(`${field}.`),
      `${JSON.stringify(body)} blamed ${param}`,
    );
  }
});

Deno.test("parseSampling makes of any seed of 64 bits one that llama.cpp takes, always the same", () => {
  for (const seed of [0, 2 ** 32 - 1, 2 ** 53 + 2, 2 ** 63]) {
    const { seed: taken } = parseSampling({ seed }, entropy);
    assert.ok(Number.isInteger(taken) && taken >= 0 && taken < SEEDS);
    assert.equal(parseSampling({ seed }, entropy).seed, taken);
  }
});

Deno.test("parseChoices takes 1 to 16 and names what it does not", () => {
  for (const body of [{}, { n: null }, { n: 1 }, { best_of: 1 }]) {
    assert.equal(parseChoices(body), 1);
  }
  assert.equal(parseChoices({ n: 16, best_of: 16 }), 16);
  const hostile: readonly (readonly [JsonObject, string])[] = [
    [{ n: 0 }, "n"],
    [{ n: 17 }, "n"],
    [{ n: 1.5 }, "n"],
    [{ n: "two" }, "n"],
    [{ best_of: 3 }, "best_of"],
    [{ n: 2, best_of: 4 }, "best_of"],
  ];
  for (const [body, field] of hostile) {
    assert.equal(paramOf(() => parseChoices(body)), field);
  }
});

Deno.test("samplingOf gives each answer the next seed and nothing else", () => {
  const sampling = parseSampling({ seed: 2 ** 32 - 3, top_k: 7 }, entropy);
  assert.deepEqual(samplingOf(sampling, 0), sampling);
  assert.deepEqual(samplingOf(sampling, 1), { ...sampling, seed: 2 ** 32 - 2 });
  assert.equal(samplingOf(sampling, 2).seed, 0);
});

Deno.test("parseSampling reads every spelling of the same wish", () => {
  const read = (body: JsonObject) => parseSampling(body, entropy);
  assert.equal(read({}).maxTokens, null);
  assert.equal(read({ max_tokens: null }).maxTokens, null);
  assert.equal(read({ max_tokens: -1 }).maxTokens, null);
  assert.equal(
    read({ max_tokens: 5, max_completion_tokens: 7 }).maxTokens,
    7,
  );
  assert.deepEqual(read({ stop: null }).stop, []);
  assert.deepEqual(read({ stop: "a" }).stop, ["a"]);
  assert.deepEqual(read({ stop: ["a", "b"] }).stop, ["a", "b"]);
  assert.deepEqual(read({ stop: [] }).stop, []);
  const map = read({ logit_bias: { "5": -100, "6": 2 } }).logitBias;
  const list = read({ logit_bias: [[5, false], [6, 2]] }).logitBias;
  assert.deepEqual(map, list);
  assert.deepEqual(map[0], { token: 5, bias: -Infinity });
  assert.equal(read({ seed: 42 }).seed, 42);
  assert.notEqual(read({ seed: null }).seed, read({}).seed);
  assert.equal(read({ logprobs: false, n: 1 }).topK, 40);
  assert.equal(read({ logprobs: false, top_logprobs: 0 }).topLogprobs, null);
  assert.equal(read({ logprobs: true }).topLogprobs, 0);
  assert.equal(read({ logprobs: true, top_logprobs: 4 }).topLogprobs, 4);
  assert.equal(read({ logprobs: 3 }).topLogprobs, 3);
  const uncut = read({ logprobs: 1, top_p: 0.5 });
  assert.deepEqual(
    [uncut.temperature, uncut.topK, uncut.topP, uncut.minP],
    [1, 0, 0.5, 0],
  );
});

Deno.test("parseChatRequest names the field that is wrong", () => {
  const messages = [{ role: "user", content: "Hi" }];
  const tool = { type: "function", function: { name: "get" } };
  const hostile: readonly (readonly [JsonObject, string])[] = [
    [{}, "messages"],
    [{ messages: [] }, "messages"],
    [{ messages: "Hi" }, "messages"],
    [{ messages: [{ role: "robot", content: "" }] }, "messages.0.role"],
    [{ messages: [{ role: "user", content: 5 }] }, "messages.0.content"],
    [{
      messages: [{ role: "user", content: [{ type: "image_url" }] }],
    }, "messages.0.content.0"],
    [{ messages, tools: [{ type: "web_search" }] }, "tools.0.type"],
    [
      { messages, tools: [{ type: "function", function: { name: "a b" } }] },
      "tools.0.function.name",
    ],
    [
      {
        messages,
        tools: [{
          type: "function",
          function: { name: "a", parameters: "x" },
        }],
      },
      "tools.0.function.parameters",
    ],
    [{ messages, tool_choice: "required" }, "tool_choice"],
    [
      {
        messages,
        tools: [tool],
        tool_choice: { type: "function", function: { name: "set" } },
      },
      "tool_choice.function.name",
    ],
    [{ messages, response_format: { type: "xml" } }, "response_format.type"],
    [
      { messages, response_format: { type: "json_schema" } },
      "response_format.json_schema.schema",
    ],
    [{ messages, chat_template_kwargs: 1 }, "chat_template_kwargs"],
  ];
  for (const [body, field] of hostile) {
    assert.equal(paramOf(() => parseChatRequest(body)), field);
  }
});

Deno.test("parseChatRequest understands parts, tools and the roles of all times", () => {
  const read = parseChatRequest({
    messages: [
      { role: "developer", content: "Be brief" },
      {
        role: "user",
        content: [{ type: "text", text: "a" }, { type: "text", text: "b" }],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{
          id: "call_1",
          type: "function",
          function: { name: "get", arguments: '{"a":1}' },
        }],
      },
      { role: "tool", tool_call_id: "call_1", content: "ok" },
    ],
    tools: [{ type: "function", function: { name: "get" } }],
    tool_choice: "none",
    unknown: true,
  });
  assert.deepEqual(read.messages.map((message) => message.role), [
    "system",
    "user",
    "assistant",
    "tool",
  ]);
  assert.equal(read.messages[1]?.content, "ab");
  assert.equal(read.messages[2]?.toolCalls[0]?.arguments, '{"a":1}');
  assert.equal(read.tools, null);
  assert.deepEqual(parseFormat({ response_format: { type: "json_object" } }), {
    kind: "json",
    schema: null,
    param: "response_format",
  });
});

Deno.test("parseHostOptions says in one line what is wrong", () => {
  const good = {
    "--model": "/m.gguf",
    "--socket": "/s",
    "--mode": "chat",
    "--context": "4096",
    "--slots": "2",
    "--threads": "1",
    "--gpu": "off",
  };
  const parse = (change: Readonly<Record<string, string | null>>) =>
    parseHostOptions(
      Object.entries({ ...good, ...change }).flatMap(([flag, value]) =>
        value === null ? [] : [flag, value]
      ),
    );
  const parsed = parse({});
  assert.ok(typeof parsed === "object");
  assert.equal(parsed.contextPerSlot, 4096);
  for (
    const change of [
      { "--model": null },
      { "--mode": "speak" },
      { "--context": "0" },
      { "--slots": "many" },
      { "--threads": "1.5" },
      { "--gpu": "cuda" },
      { "--unknown": "1" },
    ]
  ) {
    const line = parse(change);
    assert.ok(typeof line === "string");
    assert.ok(!line.includes("\n"), line);
    const [flag = ""] = Object.keys(change);
    assert.ok(line.includes(flag), line);
  }
});

Deno.test("chooseSlot prefers the longest shared prefix, then the longest rest", () => {
  assert.equal(chooseSlot([]), undefined);
  assert.equal(
    chooseSlot([
      { id: 0, sharedPrefix: 3, lastLease: 9 },
      { id: 1, sharedPrefix: 7, lastLease: 8 },
      { id: 2, sharedPrefix: 7, lastLease: 5 },
    ]),
    2,
  );
});

Deno.test("SlotPool serves in order, refuses beyond its limit and forgets who left", async () => {
  const pool = new SlotPool(["only"], 2);
  const never = new AbortController().signal;
  const first = await pool.acquire(() => 0, never);
  const order: string[] = [];
  const leaver = new AbortController();
  const second = pool.acquire(() => 0, leaver.signal);
  const third = pool.acquire(() => 0, never).then((lease) => {
    order.push("third");
    return lease;
  });
  await assert.rejects(async () => await pool.acquire(() => 0, never), {
    status: 503,
  });
  leaver.abort(new Error("left"));
  await assert.rejects(second, /left/);
  assert.equal(pool.waiting, 1);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  const lease = await third;
  assert.deepEqual(order, ["third"]);
  assert.equal(pool.busy.size, 1);
  lease[Symbol.dispose]();
  assert.equal(pool.busy.size, 0);
});
