import assert from "node:assert/strict";
import {
  type ApiReply,
  COMMANDS,
  createNodeApi,
  runCli,
} from "../../src/cli/mod.ts";
import type { JsonObject, JsonValue } from "../../src/domain/mod.ts";
import { ManualClock } from "../../src/platform/mod.ts";
import { createFakeContext } from "./fake_context.ts";

const answered = (body: JsonValue): ApiReply => ({ kind: "answered", body });

async function run(args: string[], replies: Record<string, ApiReply>) {
  const context = createFakeContext(replies);
  const code = await runCli(COMMANDS, args, context);
  const { err, out, parting, sent } = context;
  return { code, out, err, parting, sent };
}

Deno.test("models verify names what is damaged and fails by it", async () => {
  const body = {
    sound: false,
    models: [
      { model: "a", sound: true, files: [] },
      {
        model: "b",
        sound: false,
        files: [{ name: "b.gguf", problem: "2 of 9 chunks differ" }],
      },
    ],
  };
  const replies = { "POST /covey/models/verify": answered(body) };
  const all = await run(["models", "verify"], replies);
  assert.deepEqual([all.code, all.out], [1, [
    "a: sound\nb: b.gguf: 2 of 9 chunks differ",
  ]]);
  const sound = answered({ sound: true, models: body.models.slice(0, 1) });
  const one = await run(["models", "verify", "a"], {
    "POST /covey/models/verify": sound,
  });
  assert.deepEqual([one.code, one.out], [0, ["a: sound"]]);
  assert.deepEqual(one.sent.map(({ body }) => body), [{ model: "a" }]);
  const odd = await run(["models", "verify"], {
    "POST /covey/models/verify": answered({}),
  });
  assert.equal(odd.code, 1);
  assert.equal((await run(["models", "verify", "a", "b"], replies)).code, 2);
  assert.equal((await run(["models", "--json", "verify"], replies)).code, 1);
});

Deno.test("models verify and import show that they work on, but for JSON", async () => {
  const verifying = {
    status: "verifying",
    model: "b\u001b",
    doneBytes: 4e9,
    totalBytes: 40e9,
  };
  const replies = {
    "POST /covey/models/verify": answered({ sound: true, models: [] }),
    "POST /covey/imports": answered({ imported: [], skipped: [] }),
  };
  const ask = async (words: string[], line: JsonObject) => {
    const context = createFakeContext(replies, "", undefined, [line]);
    assert.equal(await runCli(COMMANDS, words, context), 0);
    return context.err;
  };
  assert.deepEqual(await ask(["models", "verify"], verifying), [
    "verifying b\\u001b 4000 of 40000 MB",
  ]);
  assert.deepEqual(await ask(["models", "verify", "--json"], verifying), []);
  assert.deepEqual(await ask(["import", "/srv"], { status: "importing" }), [
    "importing",
  ]);
});

Deno.test("models convert says what was made, and wants a model and a form", async () => {
  const made = {
    model: "m-Q8_0",
    sizeBytes: 53e6,
    originalBytes: 100e6,
    tookMs: 1234,
  };
  const replies = { "POST /covey/models/convert": answered(made) };
  const words = ["models", "convert", "m", "--to", "q8_0"];
  const one = await run(words, replies);
  assert.deepEqual([one.code, one.out], [0, [
    "Made m-Q8_0: 53 MB instead of 100 MB, in 1.2 s",
  ]]);
  assert.deepEqual(one.sent[0]?.body, { model: "m", to: "q8_0" });
  const named = await run([...words, "--as", "n", "--json"], replies);
  assert.deepEqual(named.out, [JSON.stringify(made)]);
  assert.deepEqual(named.sent[0]?.body, { model: "m", to: "q8_0", as: "n" });
  for (
    const wrong of [
      ["models", "convert"],
      ["models", "convert", "m"],
      ["models", "convert", "m", "--to"],
      [...words, "more"],
      [...words, "--fast"],
    ]
  ) assert.equal((await run(wrong, replies)).code, 2, wrong.join(" "));
});

Deno.test("models verify names partial files with their size and age, and files that are no models", async () => {
  const hour = 3_600_000;
  const partial = (idleMs: number | null) => ({
    path: ".partial/x",
    of: "pull",
    sizeBytes: 2_500_000,
    idleMs,
  });
  const { out } = await run(["models", "verify"], {
    "POST /covey/models/verify": answered({
      sound: true,
      models: [],
      partial: [null, 1, 5 * hour, 72 * hour].map(partial),
      invalid: [{ name: "bad", reason: "The file is no GGUF" }],
    }),
  });
  const line = "Partial: .partial/x: 2.5 MB of a pull,";
  assert.deepEqual(out, [[
    "No model lies here",
    `${line} nothing came yet`,
    `${line} written within the hour`,
    `${line} written 5 h ago`,
    `${line} written 3 days ago`,
    "No model: bad: The file is no GGUF",
  ].join("\n")]);
});

Deno.test("rm removes by name, and says what the node says when it refuses", async () => {
  const done = await run(["rm", "org/m"], {
    "DELETE /covey/models/org%2Fm": answered({ removed: "org/m" }),
  });
  assert.deepEqual([done.code, done.out], [0, ["Removed org/m"]]);
  const message = 'The model "m" is in use';
  const refused = await run(["rm", "m"], {
    "DELETE /covey/models/m": {
      kind: "refused",
      status: 409,
      message,
      body: undefined,
    },
  });
  assert.deepEqual([refused.code, refused.err], [1, [message]]);
  assert.equal((await run(["rm"], {})).code, 2);
});

Deno.test("postLines hands over each line as it comes, and an error line is a refusal", async () => {
  const ask = async (text: string) => {
    const lines: JsonObject[] = [];
    const { postLines } = createNodeApi({
      clock: new ManualClock(),
      address: () =>
        Promise.resolve({
          kind: "address",
          origin: "http://127.0.0.1:1",
          apiKey: null,
        }),
      fetch: () => Promise.resolve(new Response(text)),
    });
    const reply = await postLines("/x", {}, (line) => void lines.push(line));
    return { reply, lines };
  };
  const fine = await ask('{"a":1}\n{"b":2}\n');
  assert.deepEqual(fine, {
    reply: answered({ b: 2 }),
    lines: [{ a: 1 }, { b: 2 }],
  });
  const failed = await ask('{"a":1}\n{"error":"It broke","code":"x"}\n');
  assert.ok(failed.reply.kind === "refused");
  assert.equal(failed.reply.message, "It broke");
  assert.equal((await ask("")).reply.kind, "refused");
});

Deno.test("pull hands over source, revision and limit, and says whether the digest was published", async () => {
  const done = await run(
    ["pull", "org/repo:Q4_K_M", "--revision=v1", "--limit", "4.5"],
    {
      "POST /covey/pulls": answered({
        status: "success",
        model: "m",
        sizeBytes: 1,
        verified: true,
      }),
    },
  );
  assert.deepEqual([done.code, done.out], [0, [
    "Pulled m; its digest is the published one",
  ]]);
  assert.deepEqual(done.sent, [{
    path: "POST /covey/pulls",
    body: {
      source: "org/repo:Q4_K_M",
      revision: "v1",
      max_bytes_per_second: 4_500_000,
    },
  }]);
  assert.match(`${done.parting}`, /goes on with the pull: `covey pulls` shows/);
  const view = {
    id: "0123",
    source: "org/repo",
    stage: "downloading",
    doneBytes: 4e6,
    totalBytes: 8e6,
    bytesPerSecond: 2e6,
    remainingMs: 2_000,
  };
  const listed = await run(["pull", "--list"], {
    "/covey/pulls": answered({ pulls: [view] }),
  });
  assert.match(
    `${listed.out}`,
    /0123 +org\/repo +downloading 4 of 8 MB at 2\.0 MB\/s with 2 s left/,
  );
  for (
    const [what, method, said] of [
      ["pause", "POST /covey/pulls/0123/pause", "Paused 0123"],
      ["resume", "POST /covey/pulls/0123/resume", "Resumed 0123"],
      ["cancel", "DELETE /covey/pulls/0123", "Cancelled 0123"],
    ] as const
  ) {
    const done = await run(["pulls", what, "0123"], { [method]: answered({}) });
    assert.deepEqual([done.code, done.out], [0, [said]]);
  }
  const allied = await run(["pulls"], {
    "/covey/pulls": answered({
      pulls: [{ ...view, stage: "waiting", from: ["pi\u001b"] }],
    }),
  });
  assert.match(`${allied.out}`, /waiting 4 of 8 MB .* from pi\\u001b/);
  const cancelled = await run(["pull", "--cancel", "0123"], {
    "DELETE /covey/pulls/0123": answered({ cancelled: "0123" }),
  });
  assert.deepEqual([cancelled.code, cancelled.out], [0, ["Cancelled 0123"]]);
  for (const wrong of [["stop", "1"], ["pause"], ["pause", "1", "2"]]) {
    assert.equal((await run(["pulls", ...wrong], {})).code, 2);
  }
  for (
    const wrong of [
      [],
      ["a", "b"],
      ["a", "--limit", "x"],
      ["a", "--limit", "0"],
      ["a", "--limit", "5MB"],
      ["a", "--limit"],
      ["a", "--list"],
      ["--force", "a"],
    ]
  ) {
    assert.equal((await run(["pull", ...wrong], {})).code, 2, wrong.join(" "));
  }
});

Deno.test("import says what was linked, copied and left out", async () => {
  const { code, out, sent } = await run(["import", "/srv/ollama"], {
    "POST /covey/imports": answered({
      status: "success",
      imported: [
        { model: "a", shared: true },
        { model: "b", shared: false },
      ],
      skipped: [{ model: "c", reason: "It is no file" }],
    }),
  });
  assert.deepEqual([code, out], [0, [
    "a: linked\nb: copied\nc: left out, It is no file",
  ]]);
  assert.deepEqual(sent.map(({ body }) => body), [{ folder: "/srv/ollama" }]);
  for (
    const [said, body] of [
      ["../ben/./models/", { folder: "/home/ben/models" }],
      [".", { folder: "/home/ada" }],
      ["--found", { found: true }],
    ] as const
  ) {
    const { sent } = await run(["import", said], {});
    assert.deepEqual(sent.map(({ body }) => body), [body]);
  }
  const lost = await run(["import", "modles"], {
    "POST /covey/imports": {
      kind: "refused",
      status: 404,
      message: "Failed to import the folder: it is not there",
      body: undefined,
    },
  });
  assert.deepEqual(lost.err, [
    'Failed to import the folder: it is not there; the node was asked for "/home/ada/modles"',
  ]);
  assert.equal((await run(["import"], {})).code, 2);
  assert.equal((await run(["import", "--found", "x"], {})).code, 2);
});
