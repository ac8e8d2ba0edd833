import assert from "node:assert/strict";
import { join } from "node:path";
import { FROM_SOURCE, inheritedEnv } from "../../scripts/lab/node_process.ts";
import { ownLines } from "../../scripts/lab/own_lines.ts";

/** Run `covey serve` where it can not start, and return how it ended. */
async function failToStart(
  env: Record<string, string>,
  before: readonly string[] = [],
) {
  const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
  try {
    const [program = "", ...args] = [...before, ...FROM_SOURCE];
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args: [...args, "serve"],
      clearEnv: true,
      env: {
        ...inheritedEnv(),
        COVEY_DATA_DIR: join(folder, "data"),
        COVEY_PORT: "0",
        ...env,
      },
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return {
      code,
      text: decoder.decode(stdout),
      lines: ownLines(decoder.decode(stderr)),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("serve names the variable and what is accepted when a value is bad", async () => {
  const { code, lines } = await failToStart({ COVEY_PORT: "eleven" });
  assert.equal(code, 1);
  assert.equal(lines.length, 1, lines.join("\n"));
  assert.match(lines[0] ?? "", /COVEY_PORT.*"eleven".*65535/);
});

Deno.test("serve never prints a secret that it refuses", async () => {
  const { code, lines } = await failToStart({
    COVEY_CLUSTER_SECRET: "hunter2",
  });
  assert.equal(code, 1);
  assert.match(lines.join("\n"), /COVEY_CLUSTER_SECRET.*covey secret/);
  assert.doesNotMatch(lines.join("\n"), /hunter2/);
});

Deno.test("serve names the port and the variable when the port is in use", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { code, lines } = await failToStart({
    COVEY_PORT: String(taken.addr.port),
  });
  assert.equal(code, 1);
  const last = lines.at(-1) ?? "";
  assert.match(last, new RegExp(`${taken.addr.port}.*in use`));
  assert.match(last, /COVEY_PORT/);
});

Deno.test("DLD-06 serve names the folder when the data folder can not be made", async () => {
  const { code, lines } = await failToStart({
    COVEY_DATA_DIR: "/proc/covey-cannot-be-here",
  });
  assert.equal(code, 1);
  const last = lines.at(-1) ?? "";
  assert.match(last, /\/proc\/covey-cannot-be-here/);
  assert.match(last, /COVEY_DATA_DIR/);
});

Deno.test("serve says so when its data folder is a file, or covey.jsonc a folder", async () => {
  const folder = await Deno.makeTempDir({ prefix: "covey-e2e-kinds-" });
  try {
    const file = join(folder, "file");
    await Deno.writeTextFile(file, "");
    const asFolder = await failToStart({ COVEY_DATA_DIR: file });
    assert.equal(asFolder.code, 1);
    assert.match(
      asFolder.lines.join("\n"),
      /a part of the path is no folder; set COVEY_DATA_DIR to a folder$/,
    );
    await Deno.mkdir(join(folder, "covey.jsonc"));
    const asFile = await failToStart({ COVEY_DATA_DIR: folder });
    assert.equal(asFile.code, 1);
    assert.match(
      asFile.lines.join("\n"),
      /covey\.jsonc": it is a folder; put a file there, or set COVEY_DATA_DIR/,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name:
    "DLD-06 serve ends with a code of its own, naming the folder that keeps it out, when its data folder is denied",
  // Root enters every folder, unless it gives that power up.
  ignore: Deno.build.os !== "linux",
  async fn() {
    const parent = await Deno.makeTempDir({ prefix: "covey-e2e-closed-" });
    try {
      await Deno.chmod(parent, 0o000);
      const { code, lines } = await failToStart(
        { COVEY_DATA_DIR: join(parent, "inner", "data") },
        Deno.uid() === 0
          ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
          : [],
      );
      assert.equal(code, 77, lines.join("\n"));
      assert.equal(lines.length, 1);
      const [line = ""] = lines;
      assert.ok(line.includes(`permission denied in "${parent}"`), line);
      assert.ok(line.includes(`(user ${Deno.uid()})`), line);
      assert.match(line, /COVEY_DATA_DIR/);
    } finally {
      await Deno.chmod(parent, 0o700);
      await Deno.remove(parent, { recursive: true });
    }
  },
});

Deno.test({
  name:
    "serve refuses to start with too few file descriptors, and says how to get more",
  // Only Linux tells the limit.
  ignore: Deno.build.os !== "linux",
  async fn() {
    // The hard limit: the runtime raises the soft one by itself.
    const { code, lines } = await failToStart({}, [
      "/bin/sh",
      "-c",
      'ulimit -n 1024; exec "$@"',
      "sh",
    ]);
    assert.equal(code, 1);
    assert.match(lines.at(-1) ?? "", /1024 file descriptors.*ulimit -n 4096/);
  },
});
