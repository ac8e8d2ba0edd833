import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { FROM_SOURCE, inheritedEnv } from "../../scripts/lab/node_process.ts";

Deno.test({
  name:
    "COVEY_TLS_CERT=self: the API beyond loopback speaks TLS alone, and this machine's commands find it by its certificate",
  // The full build makes the certificate.
  ignore: !HAS_CLUSTER,
  fn: serveOverTls,
});

async function serveOverTls(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
  try {
    const settings = {
      ...inheritedEnv(),
      COVEY_DATA_DIR: join(folder, "data"),
      COVEY_HOST: "0.0.0.0",
      COVEY_PORT: "0",
      COVEY_NAME: "Ada",
      COVEY_ENGINE: "off",
      COVEY_UPSTREAMS: "off",
      COVEY_TLS_CERT: "self",
    };
    // While no node runs, the key is made in its folder; without one it would not start.
    const key = await run(settings, "key", "add", "laptop");
    assert.match(key, /^covey_\S+$/);
    await using node = serve(settings);
    const [, port = ""] = /^Covey is ready at https:\/\/0\.0\.0\.0:(\d+)/.exec(
      await node.firstLine,
    ) ?? [];
    assert.ok(port !== "", await node.firstLine);
    // Where this machine's commands look for it.
    const env = { ...settings, COVEY_PORT: port };

    const pem = await Deno.readTextFile(
      join(folder, "data", "api_certificate.pem"),
    );
    const names = new X509Certificate(pem).subjectAltName ?? "";
    for (const name of ["ada.local", "localhost", "127.0.0.1"]) {
      assert.ok(names.includes(name), names);
    }
    const { mode } = await Deno.stat(join(folder, "data", "api_key.pem"));
    assert.equal((mode ?? 0) & 0o777, 0o600);

    // Who was given the certificate needs nothing else to trust it.
    using client = Deno.createHttpClient({ caCerts: [pem] });
    const origin = `https://localhost:${port}`;
    const listed = await fetch(`${origin}/v1/models`, {
      client,
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(listed.status, 200);
    await listed.body?.cancel();
    await assert.rejects(fetch(`http://localhost:${port}/healthz`));

    assert.match(await run(env, "key", "list"), /laptop/);
    assert.match(await run(env, "key", "revoke", "laptop"), /is revoked/);
    const refused = await fetch(`${origin}/v1/models`, {
      client,
      headers: { authorization: `Bearer ${key}` },
    });
    // Without a key left, what is presented says nothing, and this is this machine.
    await refused.body?.cancel();
    assert.match(await run(env, "status"), /Ada/);
    assert.doesNotMatch(node.log(), /readable on the network/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Run a command to its end and return what it printed. */
async function run(
  env: Record<string, string>,
  ...args: string[]
): Promise<string> {
  const [program = "", ...before] = FROM_SOURCE;
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...before, ...args],
    clearEnv: true,
    env,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, `${args} ${decoder.decode(stderr)}`);
  return decoder.decode(stdout).trim();
}

function serve(env: Record<string, string>) {
  const [program = "", ...before] = FROM_SOURCE;
  const child = new Deno.Command(program, {
    args: [...before, "serve"],
    clearEnv: true,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const first = Promise.withResolvers<string>();
  let logged = "";
  const out = read(child.stdout, (text) => first.resolve(text));
  const err = read(child.stderr, (text) => logged += text);
  return {
    firstLine: Promise.race([
      first.promise,
      child.status.then(() => Promise.reject(new Error(logged))),
    ]),
    log: () => logged,
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGTERM");
      } catch (error) {
        // It ended by itself, which the test has noticed.
        if (!(error instanceof TypeError)) throw error;
      }
      await Promise.all([child.status, out, err]);
    },
  };
}

async function read(
  stream: ReadableStream<Uint8Array>,
  take: (text: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) take(decoder.decode(chunk));
}
