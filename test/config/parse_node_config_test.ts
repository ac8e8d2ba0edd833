import assert from "node:assert/strict";
import { type NodeConfig, parseNodeConfig } from "../../src/config/mod.ts";
import { line, ok, STRONG } from "./said_config.ts";

Deno.test("parseNodeConfig has the documented defaults when nothing is said", async () => {
  const { config, notices } = await ok();
  assert.deepEqual(config, {
    name: "ada",
    dataDir: "/home/ada/.local/share/covey",
    modelsDir: "/home/ada/.local/share/covey/models",
    listen: [{ host: "127.0.0.1", port: 11411 }],
    apiKeys: [],
    allowAnonymous: [],
    rateLimit: null,
    tls: null,
    allowedHosts: [],
    allowedOrigins: [],
    trustLoopback: true,
    routing: "local_first",
    role: "node",
    engine: "auto",
    engineThreads: null,
    slots: 2,
    contextLength: null,
    keepAliveMs: 300_000,
    pinned: [],
    drainMs: 30_000,
    maxQueue: 64,
    onBattery: "local",
    tier: null,
    logLevel: "info",
    engines: [],
    upstreams: { kind: "auto" },
    providers: [],
    lendProviders: false,
    modelSets: [],
    modelCapabilities: [],
    continueStreams: false,
    hub: { endpoint: "https://huggingface.co", token: null },
    cluster: {
      secret: null,
      previousSecret: null,
      linkHost: "0.0.0.0",
      linkPort: 11_412,
      advertise: [],
      peers: [],
      mdnsInterfaces: null,
      licence: null,
    },
  });
  assert.deepEqual(notices, []);
});

Deno.test("parseNodeConfig lets flags win over env, and env over file", async () => {
  const file = '{"port": 1, "slots": 3, "maxQueue": 7}';
  const env = { COVEY_PORT: "2", COVEY_SLOTS: "4" };
  const { config } = await ok({ file, env, flags: ["--port", "5"] });
  assert.equal(config.listen[0]?.port, 5);
  assert.equal(config.slots, 4);
  assert.equal(config.maxQueue, 7);
});

Deno.test("parseNodeConfig freezes everything it returns", async () => {
  const { config } = await ok({
    env: { COVEY_CLUSTER_SECRET: STRONG, COVEY_PEERS: "pi:11412" },
    file: '{"engines":[{"kind":"simulated","id":"sim","models":[{"id":"m"}]}]}',
  });
  const pending: unknown[] = [config];
  for (let at = 0; at < pending.length; at++) {
    const value = pending[at];
    if (typeof value !== "object" || value === null) continue;
    assert(Object.isFrozen(value), JSON.stringify(value));
    pending.push(...Object.values(value));
  }
  assert(pending.length > 30);
});

Deno.test("parseNodeConfig reads each variable", async (t) => {
  const open = {
    COVEY_API_KEYS: "key-of-a-client",
    COVEY_ALLOW_PLAINTEXT: "1",
  };
  const table: [
    Record<string, string>,
    (config: NodeConfig) => unknown,
    unknown,
  ][] = [
    [{ COVEY_PORT: "0" }, (c) => c.listen, [{ host: "127.0.0.1", port: 0 }]],
    [{ COVEY_PORT: " 65535 " }, (c) => c.listen[0]?.port, 65_535],
    [{ COVEY_PORT: "" }, (c) => c.listen[0]?.port, 11_411],
    [
      { COVEY_HOST: "127.0.0.1,[::1]:8080, localhost,::1" },
      (c) => c.listen,
      [
        { host: "127.0.0.1", port: 11_411 },
        { host: "::1", port: 8_080 },
        { host: "localhost", port: 11_411 },
        { host: "::1", port: 11_411 },
      ],
    ],
    [
      { COVEY_HOST: "127.0.0.1,127.0.0.1:11411" },
      (c) => c.listen.length,
      1,
    ],
    [{ COVEY_HOST: "0.0.0.0", ...open }, (c) => c.listen[0]?.host, "0.0.0.0"],
    [
      {
        COVEY_HOST: "::",
        COVEY_ALLOW_ANONYMOUS: "1",
        COVEY_ALLOW_PLAINTEXT: "true",
      },
      (c) => [c.listen[0]?.host, c.allowAnonymous.map(({ text }) => text)],
      ["::", ["0.0.0.0/0", "::/0"]],
    ],
    [
      { COVEY_ALLOW_ANONYMOUS: "172.16.0.0/12, fd00::/8" },
      (c) => c.allowAnonymous.map(({ text }) => text),
      ["172.16.0.0/12", "fd00::/8"],
    ],
    [{ COVEY_HOST: "127.9.9.9" }, (c) => c.listen[0]?.host, "127.9.9.9"],
    [
      { COVEY_HOST: "[::ffff:127.0.0.1]" },
      (c) => c.listen[0]?.host,
      "::ffff:127.0.0.1",
    ],
    [{ COVEY_DATA_DIR: "state" }, (c) => c.dataDir, "/srv/state"],
    [
      { COVEY_DATA_DIR: "~/a/../b" },
      (c) => [c.dataDir, c.modelsDir],
      ["/home/ada/b", "/home/ada/b/models"],
    ],
    [{ COVEY_MODELS_DIR: "/srv/gguf/" }, (c) => c.modelsDir, "/srv/gguf"],
    [
      { COVEY_API_KEYS: "one, two\nthree,one" },
      (c) => c.apiKeys.map((key) => key.reveal()),
      ["one", "two", "three"],
    ],
    [
      { COVEY_ALLOWED_HOSTS: "Chat.Example,box" },
      (c) => c.allowedHosts,
      ["chat.example", "box"],
    ],
    [
      { COVEY_ALLOWED_ORIGINS: "https://Chat.example:8443" },
      (c) => c.allowedOrigins,
      ["https://chat.example:8443"],
    ],
    [{ COVEY_TRUST_LOOPBACK: "False" }, (c) => c.trustLoopback, false],
    [{ COVEY_ROUTING: "balanced" }, (c) => c.routing, "balanced"],
    [{ COVEY_ROLE: "controller" }, (c) => c.role, "controller"],
    [{ COVEY_NAME: "Küche 1" }, (c) => c.name, "Küche 1"],
    [{ COVEY_ENGINE: "OFF" }, (c) => c.engine, "off"],
    [{ COVEY_ENGINE: "llama-server" }, (c) => c.engine, "llama-server"],
    [{ COVEY_ENGINE_THREADS: "auto" }, (c) => c.engineThreads, null],
    [{ COVEY_ENGINE_THREADS: "12" }, (c) => c.engineThreads, 12],
    [{ COVEY_SLOTS: "auto" }, (c) => c.slots, 2],
    [{ COVEY_CONTEXT: "32768" }, (c) => c.contextLength, 32_768],
    [{ COVEY_MAX_QUEUE: "0" }, (c) => c.maxQueue, 0],
    [{ COVEY_LOG_LEVEL: "debug" }, (c) => c.logLevel, "debug"],
    [{ COVEY_KEEP_ALIVE: "30s" }, (c) => c.keepAliveMs, 30_000],
    [{ COVEY_KEEP_ALIVE: "1h30m" }, (c) => c.keepAliveMs, 5_400_000],
    [{ COVEY_KEEP_ALIVE: "1.5m" }, (c) => c.keepAliveMs, 90_000],
    [{ COVEY_KEEP_ALIVE: "250ms" }, (c) => c.keepAliveMs, 250],
    [{ COVEY_KEEP_ALIVE: "90" }, (c) => c.keepAliveMs, 90_000],
    [{ COVEY_KEEP_ALIVE: "0" }, (c) => c.keepAliveMs, 0],
    [{ COVEY_KEEP_ALIVE: "-1" }, (c) => c.keepAliveMs, Infinity],
    [{ COVEY_KEEP_ALIVE: "-1m" }, (c) => c.keepAliveMs, Infinity],
  ];
  for (const [env, pick, wanted] of table) {
    await t.step(JSON.stringify(env), async () => {
      assert.deepEqual(pick((await ok({ env })).config), wanted);
    });
  }
});

Deno.test("parseNodeConfig reads the cluster's variables when a secret is set", async () => {
  const { config, notices } = await ok({
    env: {
      COVEY_CLUSTER_SECRET: `  ${STRONG}\n`,
      COVEY_CLUSTER_SECRET_PREVIOUS: `${STRONG}-before`,
      COVEY_LINK_HOST: "[::]",
      COVEY_LINK_PORT: "0",
      COVEY_ADVERTISE: "192.0.2.7,2001:DB8::7",
      COVEY_PEERS: "pi.lan:11412,[fd00::2]:7",
      COVEY_MDNS_INTERFACES: "eth0, 127.0.0.1",
      COVEY_LICENCE: "eyJhbGciOi.payload.signature",
    },
  });
  assert.deepEqual(notices, []);
  const { secret, previousSecret, ...rest } = config.cluster;
  assert.equal(secret?.reveal(), STRONG);
  assert.equal(previousSecret?.reveal(), `${STRONG}-before`);
  assert.deepEqual(rest, {
    linkHost: "::",
    linkPort: 0,
    advertise: ["192.0.2.7", "2001:db8::7"],
    peers: [
      { kind: "address", host: "pi.lan", port: 11_412 },
      { kind: "address", host: "fd00::2", port: 7 },
    ],
    mdnsInterfaces: ["eth0", "127.0.0.1"],
    licence: "eyJhbGciOi.payload.signature",
  });
});

Deno.test("parseNodeConfig refuses hostile values with one line that says what is accepted", async (t) => {
  const numbers = [
    "abc",
    "-2x",
    "1e3",
    "0x10",
    "1.5",
    "٣",
    "9".repeat(40),
    "1 2",
  ];
  const table: Record<string, readonly string[]> = {
    COVEY_PORT: ["65536", "-1", ...numbers],
    COVEY_LINK_PORT: ["65536", "-1", ...numbers],
    COVEY_HOST: [
      "256.0.0.1",
      "127.0.0.1:99999",
      "http://127.0.0.1",
      "::1::2",
      "[::1",
      "a b",
      "fe80::1%eth0",
      ",",
      "\u001b[31m",
      "x".repeat(5_000),
      "127.0.0.1,".repeat(17) + "127.0.0.1",
    ],
    COVEY_LINK_HOST: ["localhost", "0.0.0.0:1", "1.2.3"],
    COVEY_ADVERTISE: ["example.org", "10.0.0.1:80"],
    COVEY_PEERS: ["pi", "pi:0", "pi:x", "::1", "10.0.0.1:1,", ":1"].filter(
      (text) => text !== "10.0.0.1:1,",
    ),
    COVEY_MDNS_INTERFACES: ["eth 0", "-x", "eth0;rm"],
    COVEY_ROUTING: ["fastest", "local-first"],
    COVEY_ROLE: ["leader"],
    COVEY_ALLOW_ANONYMOUS: [
      "yes",
      "2",
      "10.0.0.0/33",
      "10.0.0.1/8",
      "10.0.0.0/8,1",
      "fe80::/x",
    ],
    COVEY_ALLOW_PLAINTEXT: ["on"],
    COVEY_TRUST_LOOPBACK: ["no"],
    COVEY_LEND_PROVIDERS: ["y"],
    COVEY_CONTINUE: ["maybe"],
    COVEY_ALLOWED_HOSTS: ["*", "a:b:c"],
    COVEY_ALLOWED_ORIGINS: [
      "*",
      "null",
      "example.org",
      "https://a/b",
      "http://localhost:*",
      "https://*.example",
    ],
    COVEY_UPSTREAMS: [
      "ollama",
      "a=b:ftp://x",
      "a=ollama:127.0.0.1",
      "a=what:http://x",
      "a=ollama:http://u:p@x",
      "groq=openai:http://x",
      "a=vllm:http://x,A=vllm:http://y",
    ],
    COVEY_PROVIDERS: ["aws", "openai,openal"],
    COVEY_NAME: ["a/b", "node:x", "x".repeat(64), "-x", "a\nb"],
    COVEY_TIER: ["0", "4", "high"],
    COVEY_DATABASE_URL: ["mysql://x/y", "postgres"],
    COVEY_REDIS_URL: ["http://x"],
    COVEY_ENGINE: ["llama", "llamaserver"],
    COVEY_ENGINE_THREADS: ["0", "1025", ...numbers],
    COVEY_SLOTS: ["0", "257", ...numbers],
    COVEY_CONTEXT: ["63", "8k", ...numbers],
    COVEY_KEEP_ALIVE: ["5 m", "m", "5d", "--1", "1e9", "9999999h", "Infinity"],
    COVEY_MAX_QUEUE: ["-1", "100001", ...numbers],
    COVEY_ON_BATTERY: ["never"],
    COVEY_LOG_LEVEL: ["trace", "verbose"],
    HF_ENDPOINT: ["huggingface.co", "ftp://x"],
    COVEY_TLS_CERT: ["a\u0007"],
    COVEY_TLS_KEY: ["a\u0007"],
    COVEY_CLUSTER_SECRET: [
      "short",
      "aaaaaaaaaaaaaaaaaaaaaaaa",
      "abcdefgabcdefgabcdefg",
      "fifteen-letters",
      "two lines of a file\nare no secret",
      "x1y2z3w4".repeat(200),
    ],
    COVEY_CLUSTER_SECRET_PREVIOUS: ["short"],
    COVEY_API_KEYS: [",", "schlüssel", "k".repeat(257)],
    COVEY_DATA_DIR: ["a\u0007b"],
    COVEY_MODELS_DIR: ["a\nb"],
  };
  for (const [variable, values] of Object.entries(table)) {
    await t.step(variable, async () => {
      for (const value of values) {
        const said = await line({ env: { [variable]: value } });
        assert(said.startsWith(`${variable}: `), said);
        assert.match(said, /is not accepted; \S+ \S+/);
        assert(said.length < 400, `${said.length} characters`);
      }
    });
  }
});

Deno.test("parseNodeConfig words refusals so that they can be acted on", async () => {
  assert.equal(
    await line({ env: { COVEY_PORT: "abc" } }),
    'COVEY_PORT: "abc" is not accepted; give a port from 0 to 65535',
  );
  assert.equal(
    await line({ flags: ["--port=abc"] }),
    '--port (COVEY_PORT): "abc" is not accepted; give a port from 0 to 65535',
  );
  assert.equal(
    await line({ file: '{"port": "abc"}' }),
    '"port" in covey.jsonc (COVEY_PORT): "abc" is not accepted; give a port from 0 to 65535',
  );
  assert.match(
    await line({ env: { COVEY_CLUSTER_SECRET: "hunter2" } }),
    /^COVEY_CLUSTER_SECRET: the value .*`covey secret`/,
  );
});

Deno.test("parseNodeConfig refuses a setting that one source gives twice", async () => {
  const both = {
    COVEY_CLUSTER_SECRET: STRONG,
    COVEY_CLUSTER_SECRET_FILE: "/run/secret",
  };
  assert.match(
    await line({ env: both }),
    /^COVEY_CLUSTER_SECRET: set twice, by .*_FILE; keep one$/,
  );
  assert.match(
    await line({
      env: {
        COVEY_CLUSTER_SECRET: STRONG,
        CSGHUB_LITE_CLUSTER_SECRET: `${STRONG}-other`,
      },
    }),
    /CSGHUB_LITE_CLUSTER_SECRET; keep one$/,
  );
  assert.match(
    await line({ flags: ["--port", "1", "--port", "2"] }),
    /given twice/,
  );
  assert.match(
    await line({ file: '{"port": 1, // one\n "port": 2}' }),
    /line 2, column 2: "port" stands there twice/,
  );
});

Deno.test("parseNodeConfig reads flags in both spellings and refuses unknown ones", async () => {
  const { config } = await ok({
    flags: [
      "--slots=3",
      "--trust-loopback",
      "0",
      "--allow-plaintext",
      "--role",
      "node",
    ],
  });
  assert.equal(config.slots, 3);
  assert.equal(config.trustLoopback, false);
  assert.equal(
    await line({ flags: ["--prot=1"] }),
    "--prot is no flag of serve; did you mean --port?",
  );
  assert.match(
    await line({ flags: ["--port"] }),
    /a value is missing; give a port/,
  );
  assert.match(
    await line({ flags: ["--port", "--slots", "2"] }),
    /a value is missing/,
  );
  assert.match(
    await line({ flags: ["11411"] }),
    /Argument 1 of serve is no flag/,
  );
});

Deno.test("parseNodeConfig tells of what it reads and can not do yet", async () => {
  const { notices } = await ok({
    env: {
      COVEY_PROVIDERS: "openai",
      ANTHROPIC_API_KEY: "sk-ant-not-to-be-seen",
      COVEY_CONTINUE: "0",
      COVEY_UPSTREAMS: "off",
      COVEY_PROT: "1",
      COVEY_LICENSE: "x",
      COVEY_SECRET: "not-to-be-seen",
      covey_hf_token: "not-to-be-seen",
      COVEY_SOMETHING_ELSE: "1",
      COVEY_LINK_PORT: "7000",
      UNRELATED: "1",
    },
  });
  assert.deepEqual(notices, [
    "COVEY_PROT is no variable of Covey and has no effect; did you mean COVEY_PORT?",
    "COVEY_LICENSE is no variable of Covey and has no effect; did you mean COVEY_LICENCE?",
    "COVEY_SECRET is no variable of Covey and has no effect; did you mean COVEY_CLUSTER_SECRET?",
    "covey_hf_token is no variable of Covey and has no effect; did you mean HF_TOKEN?",
    "COVEY_SOMETHING_ELSE is no variable of Covey and has no effect",
    "COVEY_PROVIDERS names openai, which is not used: OPENAI_API_KEY is not set",
    "COVEY_LINK_PORT: without effect before `covey invite` or `covey join`, since COVEY_CLUSTER_SECRET is not set",
  ]);
});

Deno.test("parseNodeConfig uses a provider that is named and has a key", async () => {
  const { config, notices } = await ok({
    env: {
      COVEY_PROVIDERS: "groq,openai,groq",
      GROQ_API_KEY: "gsk-not-to-be-seen",
      OPENAI_API_KEY_FILE: "/key",
      ANTHROPIC_API_KEY: "sk-ant-not-to-be-seen",
      COVEY_LEND_PROVIDERS: "1",
    },
    files: { "/key": "sk-from-a-file\n" },
  });
  assert.deepEqual(
    config.providers.map(({ name, key }) => [name, key.reveal()]),
    [["groq", "gsk-not-to-be-seen"], ["openai", "sk-from-a-file"]],
  );
  assert.equal(config.lendProviders, true);
  assert.doesNotMatch(JSON.stringify(config), /not-to-be-seen|from-a-file/);
  assert.deepEqual(notices, []);
});

Deno.test("parseNodeConfig reads the servers that run already", async () => {
  const { config, notices } = await ok({
    env: {
      COVEY_UPSTREAMS:
        "box=ollama:http://10.0.0.5:11434, here=openai:http://[::1]:1/v1",
    },
  });
  assert.deepEqual(config.upstreams, {
    kind: "named",
    upstreams: [
      { name: "box", kind: "ollama", url: "http://10.0.0.5:11434" },
      { name: "here", kind: "openai-compatible", url: "http://[::1]:1/v1" },
    ],
  });
  assert.deepEqual(notices, [
    "COVEY_UPSTREAMS: prompts to box cross the network in the clear",
  ]);
  const file =
    '{"engines":[{"kind":"simulated","id":"sim","models":[{"id":"m"}]}]}';
  assert.match(
    await line({ env: { COVEY_UPSTREAMS: "sim=vllm:http://x" }, file }),
    /COVEY_UPSTREAMS: "sim" is the name of an engine in covey\.jsonc too/,
  );
});

Deno.test("parseNodeConfig names no data folder when no home is known", async () => {
  const result = await parseNodeConfig({
    env: {},
    flags: [],
    file: null,
    readFile: () => Promise.reject(new Error("not asked for")),
    facts: { hostname: "", platformDataDir: null, cwd: "/" },
  });
  assert(result.kind === "bad");
  assert.equal(result.variable, "COVEY_DATA_DIR");
});

Deno.test("parseNodeConfig makes a name of any host name", async () => {
  for (
    const [hostname, name] of [
      ["Adas-MBP.local", "Adas-MBP"],
      ["-weird_", "weird_"],
      ["", "node"],
      ["a/b:c", "a-b-c"],
      ["…", "node"],
    ] as const
  ) {
    assert.equal((await ok({ hostname })).config.name, name);
  }
});
