import assert from "node:assert/strict";
import { parseNodeConfig } from "../../src/config/mod.ts";
import { MemoryFiles } from "../../src/platform/mod.ts";
import { line, ok } from "./said_config.ts";

Deno.test("parseNodeConfig refuses an API that strangers could use or read", async () => {
  const env = { COVEY_HOST: "127.0.0.1,192.0.2.1" };
  assert.match(
    await line({ env }),
    /^COVEY_HOST: "192\.0\.2\.1".*COVEY_API_KEYS/,
  );
  assert.match(
    await line({ env: { ...env, COVEY_API_KEYS: "key-of-a-client" } }),
    /^COVEY_HOST: .*COVEY_ALLOW_PLAINTEXT=1/,
  );
  assert.match(
    await line({ env: { ...env, COVEY_ALLOW_ANONYMOUS: "172.16.0.0/12" } }),
    /^COVEY_HOST: .*COVEY_ALLOW_PLAINTEXT=1/,
  );
  // Keys by name count as well as those of COVEY_API_KEYS.
  assert.match(
    await line({
      env,
      files: {
        "/home/ada/.local/share/covey/client_keys.json":
          '{"keys":[{"sha256":"00"}]}',
      },
    }),
    /^COVEY_HOST: .*COVEY_ALLOW_PLAINTEXT=1/,
  );
  const { notices } = await ok({
    env: {
      ...env,
      COVEY_API_KEYS: "key-of-a-client",
      COVEY_ALLOW_PLAINTEXT: "1",
    },
  });
  assert.match(notices.join(), /no TLS: keys and prompts are readable/);
});

Deno.test("parseNodeConfig takes a certificate with its key, or the node's own, in place of COVEY_ALLOW_PLAINTEXT", async () => {
  const open = { COVEY_HOST: "0.0.0.0", COVEY_API_KEYS: "key-of-a-client" };
  const own = await ok({ env: { ...open, COVEY_TLS_CERT: "Self" } });
  assert.deepEqual(own.config.tls, { kind: "self" });
  assert.deepEqual(own.notices, []);
  const said = await ok({
    env: { ...open, COVEY_TLS_CERT: "c.pem", COVEY_TLS_KEY: "~/k.pem" },
  });
  assert.deepEqual(said.config.tls, {
    kind: "files",
    certificateFile: "/srv/c.pem",
    keyFile: "/home/ada/k.pem",
  });
  const filed = await ok({
    env: open,
    file: '{"tlsCert": "c.pem", "tlsKey": "k.pem"}',
  });
  assert.deepEqual(filed.config.tls, {
    kind: "files",
    certificateFile: "/home/ada/.local/share/covey/c.pem",
    keyFile: "/home/ada/.local/share/covey/k.pem",
  });
  const filedOwn = await ok({ env: open, file: '{"tlsCert": "self"}' });
  assert.deepEqual(filedOwn.config.tls, { kind: "self" });

  assert.match(
    await line({ env: { ...open, COVEY_TLS_CERT: "c.pem" } }),
    /set COVEY_TLS_KEY/,
  );
  assert.match(
    await line({ env: { ...open, COVEY_TLS_KEY: "k.pem" } }),
    /without COVEY_TLS_CERT/,
  );
  assert.match(
    await line({
      env: { ...open, COVEY_TLS_CERT: "self", COVEY_TLS_KEY: "k.pem" },
    }),
    /COVEY_TLS_CERT=self/,
  );
  const { notices } = await ok({ env: { COVEY_TLS_CERT: "self" } });
  assert.match(notices.join(), /without effect: COVEY_HOST names loopback/);
});

Deno.test("parseNodeConfig does not judge what is open to whom for a command that serves nothing", async () => {
  const files = new MemoryFiles();
  const read = await parseNodeConfig({
    env: { HOME: "/home/ada", COVEY_HOST: "0.0.0.0" },
    flags: [],
    file: null,
    readFile: (path) => files.readText(path),
    facts: { hostname: "ada", platformDataDir: "/data", cwd: "/srv" },
    servesNothing: true,
  });
  assert.equal(read.kind, "ok");
});
