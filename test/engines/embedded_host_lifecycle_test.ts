import assert from "node:assert/strict";
import { join } from "node:path";
import {
  encodeCoveyTiny,
  encodeCoveyTinyEmbed,
  writeCoveyTiny,
} from "../../scripts/fixtures/covey_tiny.ts";
import {
  readStream,
  RunningHost,
  tinyArguments,
} from "./embedded_host_driver.ts";
import { ownLines } from "../../scripts/lab/own_lines.ts";

const say = (content: string) => [{ role: "user", content }];
const CHAT = "/v1/chat/completions";

/** Arguments with another model file, made for one test. */
async function argumentsFor(
  bytes: Uint8Array,
  folder: string,
): Promise<string[]> {
  const path = join(folder, "made.gguf");
  await Deno.writeFile(path, bytes);
  return (await tinyArguments("chat")).map((one) =>
    one.endsWith(".gguf") ? path : one
  );
}

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

Deno.test("writeCoveyTiny writes the same small files on every run, once", async () => {
  assert.equal(
    await digest(encodeCoveyTiny()),
    await digest(encodeCoveyTiny()),
  );
  assert.equal(
    await digest(encodeCoveyTinyEmbed()),
    await digest(encodeCoveyTinyEmbed()),
  );
  const folder = await Deno.makeTempDir();
  try {
    const { chatPath, embeddingPath } = await writeCoveyTiny(folder);
    const before = await Deno.stat(chatPath);
    assert.ok(before.size < 1_000_000);
    await Deno.writeFile(embeddingPath, new Uint8Array(3));
    await writeCoveyTiny(folder);
    assert.deepEqual((await Deno.stat(chatPath)).mtime, before.mtime);
    assert.equal(
      await digest(await Deno.readFile(embeddingPath)),
      await digest(encodeCoveyTinyEmbed()),
    );
    const names: string[] = [];
    for await (const entry of Deno.readDir(folder)) names.push(entry.name);
    assert.deepEqual(names.sort(), [
      "covey-tiny-embed.gguf",
      "covey-tiny.gguf",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("engine host tells of its life in order and dies with its parent's end of stdin", async () => {
  await using host = await RunningHost.start(await tinyArguments("chat"));
  assert.deepEqual(await host.event(), { event: "listening" });
  const ready = await host.until("ready");
  assert.equal(ready.contextLength, 2048);
  assert.equal(ready.slots, 2);
  // It was told to use no card.
  assert.equal(ready.card, null);
  assert.equal(typeof ready.loadTimeMs, "number");
  const answer = await host.ask(CHAT, {
    messages: say("Go on"),
    ignore_eos: true,
    stream: true,
  });
  const reader = answer.body?.getReader();
  await reader?.read();
  await host.endStdin();
  assert.equal((await host.exit()).code, 0);
  await assert.rejects(async () => {
    while (!(await reader?.read())?.done);
  });
});

Deno.test("engine host says that it is loading, and goes at SIGTERM even then", async () => {
  const folder = await Deno.makeTempDir();
  try {
    // A pipe that nobody writes to is a model that never ends to load.
    const path = join(folder, "slow.gguf");
    const made = await new Deno.Command("mkfifo", { args: [path] }).output();
    assert.ok(made.success);
    const args = (await tinyArguments("chat")).map((one) =>
      one.endsWith(".gguf") ? path : one
    );
    await using host = await RunningHost.start(args);
    await host.until("listening");
    const health = await host.ask("/health");
    assert.equal(health.status, 503);
    assert.deepEqual(await health.json(), {
      status: "loading model",
      progress: 0,
    });
    const chat = await host.ask(CHAT, { messages: say("Hi") });
    assert.equal(chat.status, 503);
    assert.equal((await chat.json()).error.type, "unavailable_error");
    host.kill("SIGTERM");
    assert.equal((await host.exit()).code, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("engine host reports a file that is no sound model and exits with 3", async () => {
  const good = encodeCoveyTiny();
  const table: readonly (readonly [Uint8Array, RegExp])[] = [
    [new TextEncoder().encode("no model at all, but text"), /no GGUF/],
    [new TextEncoder().encode("GGUF and then nothing of use"), /no GGUF/],
    [new Uint8Array(0), /no GGUF/],
    [good.subarray(0, 300_000), /corrupted or incomplete/],
    [good.subarray(0, 5000), /Failed to load/],
  ];
  const folder = await Deno.makeTempDir();
  try {
    for (const [bytes, reason] of table) {
      const args = await argumentsFor(bytes, folder);
      await using host = await RunningHost.start(args);
      let last = await host.event();
      while (last?.event === "listening" || last?.event === "loading") {
        last = await host.event();
      }
      assert.equal(last?.event, "failed");
      assert.match(String(last?.reason), reason);
      assert.ok(!String(last?.reason).includes(folder), "tells no path");
      assert.equal((await host.exit()).code, 3);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("engine host exits with 2 and one line when called wrongly", async () => {
  await using host = await RunningHost.start(["--mode", "dance"]);
  const { code, stderr } = await host.exit();
  assert.equal(code, 2);
  assert.equal(ownLines(stderr).length, 1);
});

Deno.test("engine host lets 64 wait and refuses the 65th", async () => {
  await using host = await RunningHost.start(
    await tinyArguments("chat", { slots: 1, context: 4096 }),
  );
  await host.until("ready");
  const leaving = new AbortController();
  const ask = { messages: say("Go on"), ignore_eos: true };
  const waiting = Array.from(
    { length: 65 },
    () => host.ask(CHAT, ask, { signal: leaving.signal }),
  );
  const gone = Promise.allSettled(waiting);
  while ((await host.json("/slots"))[0].n_waiting < 64);
  const refused = await host.ask(CHAT, ask);
  assert.equal(refused.status, 503);
  assert.equal((await refused.json()).error.code, "queue_full");
  leaving.abort();
  for (const { status } of await gone) assert.equal(status, "rejected");
});

Deno.test("engine host holds the model to a call's form once it begins one itself", async () => {
  // A dialect in which calls begin with a word that the tiny model likes.
  const template = [
    "{%- if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}",
    "{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}",
    "{%- if message.tool_calls %}{% for call in message.tool_calls %}",
    `{{- ' under {"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}{{ '}' }}`,
    "{%- endfor %}{% else %}{{ message.content }}{% endif %}{{ '<|im_end|>\\n' }}",
    "{%- endfor %}",
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
  ].join("");
  const folder = await Deno.makeTempDir();
  try {
    const args = await argumentsFor(encodeCoveyTiny(template), folder);
    await using host = await RunningHost.start(args);
    await host.until("ready");
    const tool = {
      type: "function",
      function: {
        name: "switch",
        parameters: {
          type: "object",
          properties: { on: { type: "boolean" } },
          required: ["on"],
        },
      },
    };
    const ask = {
      messages: say("Light, please"),
      tools: [tool],
      seed: 1,
      max_tokens: 300,
      logit_bias: [[" under", 10]],
    };
    const answer = await host.json(CHAT, ask);
    const [choice] = answer.choices;
    assert.equal(choice.finish_reason, "tool_calls");
    assert.match(choice.message.content, /^[A-Z]/);
    assert.doesNotMatch(choice.message.content, /under/);
    const [call] = choice.message.tool_calls;
    assert.equal(call.function.name, "switch");
    assert.equal(typeof JSON.parse(call.function.arguments).on, "boolean");
    const events = await readStream(
      await host.ask(CHAT, { ...ask, stream: true }),
    );
    const deltas = events.slice(0, -1).map((chunk) => chunk.choices[0].delta);
    assert.equal(
      deltas.map((delta) => delta.content ?? "").join(""),
      choice.message.content,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
