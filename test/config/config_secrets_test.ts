import assert from "node:assert/strict";
import fc from "fast-check";
import { line, ok, parse, STRONG } from "./said_config.ts";

Deno.test("parseNodeConfig reads secrets from files", async () => {
  const files = {
    "/run/secret": `${STRONG}\n`,
    "/srv/keys": "key-a\nkey-b\n",
    "/home/ada/covey.licence": "licence-text",
    "/home/ada/.local/share/covey/secret": `${STRONG}-2`,
    "/run/empty": "\n",
    "/run/weak": "hunter2",
  };
  const { config } = await ok({
    env: {
      COVEY_CLUSTER_SECRET_FILE: "/run/secret",
      COVEY_API_KEYS_FILE: "keys",
      COVEY_LICENCE: "~/covey.licence",
    },
    files,
  });
  assert.equal(config.cluster.secret?.reveal(), STRONG);
  assert.deepEqual(config.apiKeys.map((key) => key.reveal()), [
    "key-a",
    "key-b",
  ]);
  assert.equal(config.cluster.licence, "licence-text");

  const beside = await ok({ file: '{"clusterSecretFile": "secret"}', files });
  assert.equal(beside.config.cluster.secret?.reveal(), `${STRONG}-2`);

  for (
    const [path, reason] of [
      ["/run/missing", /can not be read \(there is no such file/],
      ["/run/empty", /is empty/],
      ["/run/weak", /the value is not accepted/],
    ] as const
  ) {
    const said = await line({
      env: { COVEY_CLUSTER_SECRET_FILE: path },
      files,
    });
    assert.match(said, /^COVEY_CLUSTER_SECRET_FILE: /);
    assert.match(said, reason);
  }
});

Deno.test("parseNodeConfig takes the alias of the secret", async () => {
  const env = { CSGHUB_LITE_CLUSTER_SECRET: STRONG };
  assert.equal((await ok({ env })).config.cluster.secret?.reveal(), STRONG);
  assert.match(
    await line({ env: { CSGHUB_LITE_CLUSTER_SECRET: "weak" } }),
    /^CSGHUB_LITE_CLUSTER_SECRET: /,
  );
});

Deno.test("parseNodeConfig gives no secret a flag", async () => {
  for (const flag of ["--cluster-secret", "--api-keys", "--database-url"]) {
    const said = await line({ flags: [flag, STRONG] });
    assert(said.startsWith(`${flag} is no flag`), said);
    assert(!said.includes(STRONG));
  }
  const { config } = await ok({
    flags: ["--cluster-secret-file", "/run/secret"],
    files: { "/run/secret": STRONG },
  });
  assert.equal(config.cluster.secret?.reveal(), STRONG);
});

Deno.test("parseNodeConfig shows no secret in any line, notice or print of the config", async () => {
  const secretNames = [
    "COVEY_CLUSTER_SECRET",
    "COVEY_CLUSTER_SECRET_PREVIOUS",
    "CSGHUB_LITE_CLUSTER_SECRET",
    "COVEY_API_KEYS",
    "COVEY_DATABASE_URL",
    "COVEY_REDIS_URL",
    "OPENAI_API_KEY",
    "HF_TOKEN",
  ];
  const core = fc.string({
    minLength: 10,
    maxLength: 24,
    unit: "grapheme-ascii",
  })
    .filter((text) => text.trim() === text && !/[,"\\\s/]/.test(text));
  const secret = fc.oneof(
    core,
    core.map((text) => `postgres://u:${text}@h/d`),
    core.map((text) => `${text}\n${text}`),
    core.map((text) => text.repeat(100)),
  );
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...secretNames), secret, { minKeys: 1 }),
      fc.constantFrom("env", "file", "flags", "secretFile"),
      async (secrets, way) => {
        const keyOf = (name: string) =>
          name.replace("COVEY_", "").toLowerCase().replace(
            /_(.)/g,
            (_, letter: string) => letter.toUpperCase(),
          );
        const entries = Object.entries(secrets);
        const result = await parse(
          way === "env" ? { env: secrets } : way === "file"
            ? {
              file: JSON.stringify(
                Object.fromEntries(
                  entries.map(([name, value]) => [keyOf(name), value]),
                ),
              ),
            }
            : way === "flags"
            ? {
              flags: entries.flatMap(([name, value]) => [
                `--${
                  name.replace("COVEY_", "").toLowerCase().replaceAll("_", "-")
                }=${value}`,
              ]),
            }
            : {
              env: Object.fromEntries(
                entries.map(([name], at) => [`${name}_FILE`, `/s/${at}`]),
              ),
              files: Object.fromEntries(
                entries.map(([, value], at) => [`/s/${at}`, value]),
              ),
            },
        );
        if (result.kind === "bad") refused++;
        const shown = result.kind === "bad" ? result.line : [
          ...result.notices,
          JSON.stringify(result.config),
          Deno.inspect(result.config, { depth: 9 }),
        ].join("\n");
        for (const value of Object.values(secrets)) {
          assert(!shown.includes(value.slice(-10)), `${way}: ${shown}`);
        }
      },
    ),
    { numRuns: 300 },
  );
  assert(refused > 20, "the property never saw a refusal");
});
