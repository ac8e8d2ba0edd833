import assert from "node:assert/strict";
import {
  type ApiReply,
  type CliContext,
  DONE,
  FAILED,
  WRONG_USAGE,
} from "@covey/core/cli";
import type { JsonObject } from "@covey/core/domain";
import { createSeededEntropy } from "@covey/core/platform";
import { CLUSTER_COMMANDS } from "../../src/cli/mod.ts";
import { formatLife, parseLife } from "../../src/cli/life.ts";

/** Run a command against a node that answers one thing. */
async function run(
  line: readonly string[],
  answer: JsonObject | ApiReply,
  input = "",
) {
  const out: string[] = [];
  const err: string[] = [];
  const sent: unknown[] = [];
  const reply: ApiReply = "kind" in answer &&
      (answer.kind === "refused" || answer.kind === "unreachable")
    ? answer as ApiReply
    : { kind: "answered", body: answer as JsonObject };
  const context: CliContext = {
    version: "1",
    entropy: createSeededEntropy(1),
    stdout: (text) => void out.push(text),
    stderr: (text) => void err.push(text),
    fetchJson: () => Promise.resolve(reply),
    postJson(method, path, body) {
      sent.push([method, path, body]);
      return Promise.resolve(reply);
    },
    postLines: () => Promise.resolve(reply),
    readInput: () => Promise.resolve(input),
    nodeConfig: () => Promise.reject(new Error("No configuration is read")),
    whenLeft: () => ({ [Symbol.dispose]() {} }),
    nowMs: () => 0,
    sleep: () => Promise.resolve(),
    workingFolder: "/home/ada",
    dataFolder: () => Promise.reject(new Error("No folder is asked for")),
  };
  const [name, ...args] = line;
  const command = CLUSTER_COMMANDS.find((one) => one.name === name);
  assert.ok(command !== undefined, name);
  const code = await command.run(args, context);
  return { code, sent, out: out.join("\n"), err: err.join("\n") };
}

Deno.test("the cluster's commands send what was said", async () => {
  const table: readonly [readonly string[], JsonObject, unknown][] = [
    [
      ["invite", "--code", "--ttl", "2m"],
      { code: "12345678", ttlMs: 120_000, addresses: ["192.0.2.1:11412"] },
      ["POST", "/cluster/invites", { code: true, ttlMs: 120_000 }],
    ],
    [
      ["join", "covey1-abc", "def"],
      { by: "anna", cluster: { id: "c" } },
      ["POST", "/cluster/join", { token: "covey1-abcdef" }],
    ],
    [
      ["join", "--code=1234 5678", "--at", "pi.lan"],
      { by: "anna", cluster: { id: "c" } },
      ["POST", "/cluster/join", { code: "1234 5678", at: "pi.lan" }],
    ],
    [
      ["copy", "m", "pi", "anna", "--limit", "50", "--detach"],
      { copies: [{ model: "m" }], failed: [] },
      ["POST", "/cluster/copies", {
        model: "m",
        to: ["pi", "anna"],
        bytesPerSecond: 50_000_000,
      }],
    ],
    [
      ["sync", "m", "--all"],
      { copies: [], failed: [] },
      ["POST", "/cluster/copies", { model: "m", to: "all" }],
    ],
    [
      ["copies", "--cancel", "c1"],
      { copies: [{ model: "m", state: "cancelled" }] },
      ["DELETE", "/cluster/copies/c1", {}],
    ],
    [
      ["copies", "pause", "c1"],
      { copies: [{ model: "m", state: "paused" }] },
      ["POST", "/cluster/copies/c1/pause", {}],
    ],
    [
      ["copies", "resume", "c1"],
      { copies: [{ model: "m", state: "queued" }] },
      ["POST", "/cluster/copies/c1/resume", {}],
    ],
    [
      ["remove", "Küche 1", "--expel"],
      { message: "gone", untold: ["ben"] },
      ["DELETE", "/cluster/members/K%C3%BCche%201", { expel: true }],
    ],
    [["door"], { door: "open" }, ["POST", "/cluster/door", {}]],
    [
      ["door", "close"],
      { door: "closed" },
      ["POST", "/cluster/door", { state: "closed" }],
    ],
    [
      ["leave", "--until-restart", "--json"],
      { left: true },
      ["POST", "/cluster/leave", { untilRestart: true }],
    ],
  ];
  for (const [line, answer, expected] of table) {
    const { code, err, sent } = await run(line, answer);
    assert.equal(code, DONE, err);
    assert.deepEqual(sent, [expected]);
  }
  const { out } = await run(["remove", "x"], {
    message: "gone",
    untold: ["b"],
  });
  assert.match(out, /Not reached now: b/);
});

Deno.test("join reads a token from standard input, so that no list of processes shows it", async () => {
  for (const line of [["join"], ["join", "-"]]) {
    const { sent } = await run(line, { by: "a", cluster: { id: "c" } }, "tok");
    assert.deepEqual(sent, [["POST", "/cluster/join", { token: "tok" }]]);
  }
});

Deno.test("the cluster's commands refuse wrong usage without a word of what was given", async () => {
  const table = [
    ["invite", "now"],
    ["invite", "--ttl", "soon"],
    ["invite", "--ttl"],
    ["join", "--code", "87654321"],
    ["join", "--at", "pi.lan"],
    ["join", "secret-token", "--code", "87654321", "--at", "x"],
    ["join", "--token=secret-token"],
    ["remove"],
    ["remove", "a", "b"],
    ["door", "ajar"],
    ["leave", "now"],
  ];
  for (const line of table) {
    const { code, err, sent } = await run(line, {});
    assert.equal(code, WRONG_USAGE, line.join(" "));
    assert.deepEqual(sent, []);
    assert.doesNotMatch(err, /87654321|secret-token/);
  }
});

Deno.test("a refused action is one line on standard error and exit code 1", async () => {
  const { code, err, out } = await run(["leave"], {
    kind: "refused",
    status: 400,
    message: "unset it first",
    body: {},
  });
  assert.deepEqual([code, err, out], [FAILED, "unset it first", ""]);
  assert.equal((await run(["invite"], { odd: true })).code, FAILED);
});

Deno.test("parseLife and formatLife agree", () => {
  for (
    const [text, ms] of [["90s", 90_000], ["10m", 600_000], [
      "2h",
      7_200_000,
    ]] as const
  ) {
    assert.equal(parseLife(text), ms);
  }
  for (const text of ["", "10", "m", "-1m", "1.5m", "10 m", "9999999s"]) {
    assert.equal(parseLife(text), undefined);
  }
  assert.deepEqual(
    [90_000, 600_000, 7_200_000].map(formatLife),
    ["90 s", "10 min", "2 h"],
  );
});

Deno.test("covey copies names members that did not tell of theirs", async () => {
  const { out } = await run(["copies"], { copies: [], unknown: ["pi", "ben"] });
  assert.match(out, /^There are no copies\.\n.* copies of pi, ben$/);
});

Deno.test("covey copies shows how far each is, and covey copy who could not begin", async () => {
  const { out } = await run(["copies"], {
    copies: [{
      id: "c1",
      model: "m",
      nodeName: "pi",
      state: "copying",
      doneBytes: 250e6,
      totalBytes: 1000e6,
      bytesPerSecond: 110e6,
      sources: ["anna", "ben"],
      message: 'Another model is called "x" here',
    }],
  });
  assert.match(out, /^m +pi +copying +25 % +1000 +110 +anna,ben +c1$/m);
  assert.match(out, /^m to pi: Another model/m);
  const copy = await run(["copy", "m", "pi"], {
    copies: [],
    failed: [{ node: "pi", reason: "It did not answer" }],
  });
  assert.deepEqual([copy.code, copy.err], [
    FAILED,
    "Not begun on pi: It did not answer",
  ]);
  for (
    const wrong of [["copy", "m"], ["sync", "m"], ["copies", "stop", "c1"], [
      "copies",
      "pause",
    ], [
      "copy",
      "m",
      "a",
      "--limit",
      "x",
    ]]
  ) {
    assert.equal((await run(wrong, {})).code, WRONG_USAGE);
  }
});
