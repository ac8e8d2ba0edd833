import assert from "node:assert/strict";
import { type Command, COMMANDS, runCli } from "../../src/cli/mod.ts";
import { createFakeContext } from "./fake_context.ts";

const LICENCE: Command = {
  name: "licence",
  aliases: ["license"],
  summary: "Show the licence",
  usage: "",
  run: (args) => Promise.resolve(args.length),
};
const HIDDEN: Command = {
  name: "engine-child",
  summary: "Not for people",
  usage: "",
  hidden: true,
  run: () => Promise.reject(new Error("the model is gone")),
};

async function run(...args: string[]) {
  const context = createFakeContext();
  const commands = [...COMMANDS, LICENCE, HIDDEN];
  const code = await runCli(commands, args, context);
  return { code, out: context.out.join("\n"), err: context.err.join("\n") };
}

Deno.test("runCli lists what exists when no command is given", async () => {
  for (const args of [[], ["help"], ["--help"], ["-h"]]) {
    const { code, out } = await run(...args);
    assert.equal(code, 0);
    assert.match(out, /^Covey 1\.2\.3/);
    assert.match(out, /^ {2}explain {2}Show what a placement/m);
    assert(!out.includes("engine-child"));
  }
  const { out } = await run("help", "--json");
  const { commands } = JSON.parse(out);
  assert.equal(commands.length, COMMANDS.length + 1);
});

Deno.test("runCli gives every command --help", async () => {
  for (const { name } of COMMANDS) {
    for (
      const args of [[name, "--help"], [name, "--json", "-h"], ["help", name]]
    ) {
      const { code, out } = await run(...args);
      assert.equal(code, 0, name);
      assert(out.startsWith(`Usage: covey ${name}`), out);
    }
  }
});

Deno.test("runCli runs a command by name or alias and returns its code", async () => {
  assert.equal((await run("licence")).code, 0);
  assert.equal((await run("license", "a")).code, 1);
  assert.equal((await run("--version")).out, "covey 1.2.3");
});

Deno.test("runCli says by name what is not built yet", async () => {
  for (const name of ["upgrade", "doctor", "service"]) {
    const { code, err } = await run(name);
    assert.equal(code, 1);
    assert.equal(err, `covey ${name} is not part of this build yet`);
  }
  const { err } = await run("run", "qwen3:8b");
  assert.match(err, /^covey run is not part of .*; any client .* ollama run/);
});

Deno.test("runCli suggests the nearest command for an unknown one", async () => {
  const near = await run("mebmers");
  assert.equal(near.code, 2);
  assert.equal(
    near.err,
    'covey has no command "mebmers"; did you mean `covey members`?',
  );
  const far = await run("frobnicate\u001b[2J");
  assert.equal(far.code, 2);
  assert.equal(
    far.err,
    'covey has no command "frobnicate\\u001b[2J"; `covey help` lists what there is',
  );
});

Deno.test("runCli turns a thrown error into one line and exit code 1", async () => {
  const { code, err } = await run("engine-child");
  assert.equal(code, 1);
  assert.equal(err, "covey engine-child failed: the model is gone");
});

Deno.test("runCli ends without a word when nobody reads what it prints", async () => {
  const isGone = () => {
    throw Object.assign(new Error("Broken pipe"), { name: "BrokenPipe" });
  };
  for (const args of [["help"], ["version"], ["help", "secret"]]) {
    const context = { ...createFakeContext(), stdout: isGone };
    assert.equal(await runCli(COMMANDS, args, context), 141, args.join(" "));
    assert.deepEqual(context.err, []);
  }
  const deaf = { ...createFakeContext(), stderr: isGone };
  assert.equal(await runCli(COMMANDS, ["frobnicate"], deaf), 141);
});

Deno.test("runCli answers wrong arguments with the usage and exit code 2", async () => {
  for (
    const args of [
      ["version", "extra"],
      ["secret", "--long"],
      ["members", "x"],
      ["models", "-x"],
      ["ps", "y"],
      ["status", "--watch"],
      ["explain"],
      ["explain", "../../etc"],
      ["explain", "abcdefgh", "ijklmnop"],
    ]
  ) {
    const { code, out, err } = await run(...args);
    assert.equal(code, 2, args.join(" "));
    assert.equal(out, "");
    assert(err.includes(`\nUsage: covey ${args[0]}`), err);
  }
});
