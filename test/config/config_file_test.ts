import assert from "node:assert/strict";
import { parseEngineList } from "../../src/config/engine_list.ts";
import fc from "fast-check";
import { readConfigFile } from "../../src/config/config_file.ts";

async function line(text: string): Promise<string> {
  const reading = await readConfigFile(text);
  assert(reading.kind === "bad", `${text.slice(0, 60)} was accepted`);
  assert(!/\p{Cc}/u.test(reading.line), reading.line);
  return reading.line;
}

Deno.test("readConfigFile takes comments, trailing commas, a BOM and nothing at all", async () => {
  const text =
    '\ufeff// mine\n{ "slots": 3, /* two */ "host": ["127.0.0.1", "::1"], }';
  const reading = await readConfigFile(text);
  assert(reading.kind === "read");
  assert.deepEqual(
    reading.given.map(({ text, place }) => [text, place]),
    [
      ["3", '"slots" in covey.jsonc (COVEY_SLOTS)'],
      ["127.0.0.1,::1", '"host" in covey.jsonc (COVEY_HOST)'],
    ],
  );
  for (const empty of ["", "  \n", "// nothing"]) {
    const reading = await readConfigFile(empty);
    assert.equal(reading.kind, "read", JSON.stringify(empty));
  }
});

Deno.test("readConfigFile names line and column when the text is no JSON", async () => {
  for (
    const [text, place] of [
      [
        '{\n  "port": 1\n  "slots": 2\n}',
        "line 3, column 3: a comma is expected",
      ],
      ['{"port": }', "line 1, column 10: a value is expected"],
      ['{\r\n"port": 1', "line 2, column 10: a closing brace is expected"],
      ["{port: 1}", "line 1, column 2: "],
      ['{"port": 1} {}', "line 1, column 13: an end of file is expected"],
    ] as const
  ) {
    const said = await line(text);
    assert(said.startsWith(`covey.jsonc ${place}`), said);
  }
});

Deno.test("readConfigFile refuses what is not an object of settings", async () => {
  for (
    const [text, reason] of [
      ["[]", /must hold one object/],
      ["7", /must hold one object/],
      ["[".repeat(300_000), /nested too deeply|expected/],
      [" ".repeat(1_048_577), /larger than 1 MiB/],
      ['{"port": {}}', /this object is not accepted; give a port/],
      ['{"peers": ["a:1,b:2"]}', /this array is not accepted/],
      ['{"clusterSecret": {"a": 1}}', /the value is not accepted/],
      ['{"dataDir": "/x"}', /the data folder is where covey.jsonc is found/],
      ['{"models": ["a"]}', /"models" must map names to lists/],
      ['{"models": {"a": "b"}}', /"a": give a list of model names/],
      ['{"models": {"a": []}}', /"a": give a list of model names/],
      ['{"models": {"a": ["b", ["c"]]}}', /"a": give a list of model names/],
      ['{"rateLimit": 60}', /"requestsPerMinute": a whole number/],
      ['{"rateLimit": {}}', /"requestsPerMinute": a whole number/],
      ['{"rateLimit": {"requestsPerMinute": 0.5}}', /"requestsPerMinute"/],
      ['{"rateLimit": {"requestsPerHour": 5}}', /"requestsPerMinute"/],
      ['{"models": {"a": [["b"], [7]]}}', /"a": give a list of model names/],
    ] as const
  ) assert.match(await line(text), reason);
});

Deno.test("readConfigFile names the nearest key when one is misspelt", async () => {
  const reading = await readConfigFile(
    '{"maxQeue": 1, "engine s": []}',
  );
  assert(reading.kind === "read");
  assert.deepEqual(reading.notices, [
    '"maxQeue" in covey.jsonc is no setting and has no effect; did you mean "maxQueue"?',
    '"engine s" in covey.jsonc is no setting and has no effect; did you mean "engines"?',
  ]);
});

Deno.test("readConfigFile knows a variable's name for its key, and says what is no JSON", async () => {
  const named = await readConfigFile('{"COVEY_MAX_QUEUE": 5}');
  assert(named.kind === "read");
  assert.deepEqual(named.notices, [
    '"COVEY_MAX_QUEUE" in covey.jsonc is no setting and has no effect; did you mean "maxQueue"?',
  ]);
  const bare = await readConfigFile("{ port: 1 }");
  assert(bare.kind === "bad");
  assert.match(bare.line, /line 1, column 3: .*double quotes/);
});

Deno.test("readConfigFile reads sets of equal models, with fallbacks or without", async () => {
  const reading = await readConfigFile(
    '{"models": {"big": ["a", "b:*"], "claude-*": [["a"], ["c", "d"]]}}',
  );
  assert(reading.kind === "read");
  assert.deepEqual(reading.notices, []);
  assert.deepEqual(reading.modelSets, [
    { name: "big", tiers: [["a", "b:*"]] },
    { name: "claude-*", tiers: [["a"], ["c", "d"]] },
  ]);
});

Deno.test("readConfigFile reads what models of other servers do", async () => {
  const reading = await readConfigFile(
    '{"capabilities": {"my-*": "transcription", "e": ["rerank", "embedding"]}}',
  );
  assert(reading.kind === "read");
  assert.deepEqual(reading.notices, []);
  assert.deepEqual(reading.modelCapabilities, [
    { pattern: "my-*", capabilities: ["transcription"] },
    { pattern: "e", capabilities: ["embedding", "rerank"] },
  ]);
  for (
    const wrong of ['["a"]', '{"a":"dance"}', '{"a":[]}', '{"":"chat"}', "7"]
  ) {
    const said = await line(`{"capabilities": ${wrong}}`);
    assert.match(said, /^covey\.jsonc "capabilities" /);
  }
});

Deno.test("readConfigFile fills what a simulated engine leaves out", async () => {
  const reading = await readConfigFile(
    '{"engines":[{"kind":"simulated","id":"sim","models":[{"id":"sim-2b"},{"id":"e","capability":"embedding","loadMs":5,"slots":4}],"faults":{"stallMs":7}}]}',
  );
  assert(reading.kind === "read");
  const rest = {
    prefillTokensPerSecond: 2_000,
    decodeTokensPerSecond: 30,
    batchSlowdown: 0.3,
    noise: 0,
    contextLength: 8_192,
    cachedPrompts: 64,
  };
  assert.deepEqual(reading.engines, [{
    kind: "simulated",
    id: "sim",
    models: [
      { id: "sim-2b", capability: "chat", loadMs: 0, slots: 1, ...rest },
      { id: "e", capability: "embedding", loadMs: 5, slots: 4, ...rest },
    ],
    maxLoaded: null,
    faults: { errorRate: 0, stallMs: 7, dieAfterTokens: null },
  }]);
});

Deno.test("parseEngineList reads programs for speech, and refuses what is none", async () => {
  const engine = (model: object) => [{
    kind: "command",
    id: "piper",
    models: [{ id: "piper-amy", ...model }],
  }];
  const speech = { capability: "speech", command: ["piper", "{output}"] };
  assert.deepEqual(await parseEngineList(engine(speech)), {
    kind: "read",
    engines: engine({
      ...speech,
      slots: 1,
      timeLimitMs: 300_000,
      output: "wav",
    }),
  });
  for (
    const [model, reason] of [
      [{ ...speech, capability: "chat" }, /give a capability/],
      [{ ...speech, command: [] }, /command: give the program/],
      [{ ...speech, command: "piper -x" }, /command: give a list of texts/],
      [{ ...speech, output: "mp3" }, /output: give "wav"/],
      [{ ...speech, shell: true }, /shell/],
    ] as const
  ) {
    const read = await parseEngineList(engine(model));
    assert.match(read.kind === "bad" ? read.line : "", reason);
  }
});

Deno.test("readConfigFile refuses engines and says where", async () => {
  const model = '{"id":"m"}';
  for (
    const [engines, reason] of [
      ["{}", /^covey\.jsonc engines: give a list of engines$/],
      [
        '[{"kind":"ollama","id":"a","models":[]}]',
        /engines\[0\]\.kind: this build knows no other kind/,
      ],
      [
        '[{"kind":"simulated","id":"a b","models":[' + model + "]}]",
        /engines\[0\]\.id: give 1 to 128/,
      ],
      [
        '[{"kind":"simulated","id":"a","models":[]}]',
        /engines\[0\]\.models: give at least one/,
      ],
      [
        '[{"kind":"simulated","id":"a","models":[{"id":"m","slots":0}]}]',
        /models\[0\]\.slots: give a whole number from 1/,
      ],
      [
        '[{"kind":"simulated","id":"a","models":[{"id":"m","slots":1e999}]}]',
        /models\[0\]\.slots/,
      ],
      [
        '[{"kind":"simulated","id":"a","models":[{"id":"m","decodeTokensPerSecond":0}]}]',
        /decodeTokensPerSecond: give a number from/,
      ],
      [
        '[{"kind":"simulated","id":"a","models":[{"id":"m","sl\\u000aots":1}]}]',
        /Unrecognized key/,
      ],
      [
        `[{"kind":"simulated","id":"a","models":[${model}]},{"kind":"simulated","id":"a","models":[${model}]}]`,
        /two engines are called "a"/,
      ],
    ] as const
  ) assert.match(await line(`{"engines": ${engines}}`), reason);
});

Deno.test("readConfigFile answers every JSON and every text", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.json(),
        fc.string({ maxLength: 200 }),
        fc.dictionary(
          fc.constantFrom(
            "port",
            "engines",
            "models",
            "host",
            "__proto__",
            "apiKeysFile",
          ),
          fc.jsonValue(),
        ).map((value) => JSON.stringify(value)),
      ),
      async (text) => {
        const reading = await readConfigFile(text);
        if (reading.kind === "bad") assert(!/\p{Cc}/u.test(reading.line));
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("readConfigFile reads how often a client may ask", async () => {
  const reading = await readConfigFile(
    '{"rateLimit": {"requestsPerMinute": 60}}',
  );
  assert(reading.kind === "read");
  assert.deepEqual(reading.rateLimit, { requestsPerMinute: 60 });
  assert.deepEqual(reading.notices, []);
});
