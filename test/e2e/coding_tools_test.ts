import assert from "node:assert/strict";
import { join } from "node:path";
import { openListeners } from "../../src/api/mod.ts";
import {
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
} from "../../src/domain/mod.ts";
import { createSystemClock } from "../../src/platform/mod.ts";
import { apiUnderTest, SELF } from "../api/api_under_test.ts";
import { chunk, DONE, USAGE } from "../api/dialect/streams.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

/** Folder of npm's `.bin` where the tools are, if they are anywhere. */
const TOOLS = Deno.env.get("COVEY_CODING_TOOLS") ?? "";
const MODEL = "scripted";
const MARK = "covey-was-here-7391";
const FINAL = "The tool answered.";
const BOUND_MS = 120_000;

/** One coding tool, as its users start it. */
interface CodingTool {
  readonly program: string;
  readonly npm: string;
  /** Prepare its home; returns its arguments and variables. */
  readonly setUp: (home: string, url: string) => Promise<{
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  }>;
}

const CODING_TOOLS: readonly CodingTool[] = [
  {
    program: "claude",
    npm: "@anthropic-ai/claude-code@2.1.197",
    setUp: (_home, url) =>
      Promise.resolve({
        args: [
          "-p",
          "Run the command",
          "--model",
          MODEL,
          "--allowedTools",
          "Bash",
        ],
        env: {
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_API_KEY: "none",
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        },
      }),
  },
  {
    program: "codex",
    npm: "@openai/codex@0.171.0",
    setUp: async (home, url) => {
      await Deno.mkdir(join(home, ".codex"));
      await Deno.writeTextFile(
        join(home, ".codex/config.toml"),
        `model = "${MODEL}"\nmodel_provider = "covey"\n[model_providers.covey]\nname = "covey"\nbase_url = "${url}/v1"\nenv_key = "COVEY_KEY"\nwire_api = "responses"\n`,
      );
      return {
        args: [
          "exec",
          "--skip-git-repo-check",
          "--dangerously-bypass-approvals-and-sandbox",
          "Run the command",
        ],
        env: { COVEY_KEY: "none" },
      };
    },
  },
  {
    program: "opencode",
    npm: "opencode-ai@1.18.33",
    setUp: async (home, url) => {
      await Deno.writeTextFile(
        join(home, "opencode.json"),
        JSON.stringify({
          provider: {
            covey: {
              npm: "@ai-sdk/openai-compatible",
              options: { baseURL: `${url}/v1`, apiKey: "none" },
              models: { [MODEL]: { name: MODEL, tool_call: true } },
            },
          },
          permission: "allow",
        }),
      );
      return {
        args: ["run", "-m", `covey/${MODEL}`, "Run the command"],
        env: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
      };
    },
  },
];

/** The shell tools of coding programs, by the name of what takes the command. */
const COMMANDS: Readonly<Record<string, JsonObject>> = {
  command: { command: `echo ${MARK}`, description: "Say it" },
  cmd: { cmd: `echo ${MARK}` },
};

/** A model that calls the shell once, and speaks once it has the result. */
function scripted(request: InferenceRequest): string {
  const messages = Array.isArray(request.body.messages)
    ? request.body.messages.filter((one) => isJsonObject(one))
    : [];
  const tools = Array.isArray(request.body.tools) ? request.body.tools : [];
  const hasResult = messages.some(({ role }) => role === "tool");
  const call = hasResult ? undefined : shellCall(tools);
  return call === undefined
    ? chunk({ role: "assistant", content: FINAL }) + chunk({}, "stop") + USAGE +
      DONE
    : chunk({ role: "assistant", tool_calls: [call] }) +
      chunk({}, "tool_calls") + USAGE + DONE;
}

function shellCall(tools: readonly unknown[]): JsonObject | undefined {
  for (const tool of tools) {
    const { function: called } = tool as {
      function: {
        name: string;
        parameters?: { properties?: Record<string, { type?: unknown }> };
      };
    };
    if (!/^(?:bash|shell|shell_command|exec_command)$/i.test(called.name)) {
      continue;
    }
    for (const [key, input] of Object.entries(COMMANDS)) {
      const property = called.parameters?.properties?.[key];
      if (property === undefined) continue;
      const isList = property.type === "array";
      const args = isList ? { [key]: ["sh", "-c", `echo ${MARK}`] } : input;
      return {
        index: 0,
        id: "call_1",
        type: "function",
        function: { name: called.name, arguments: JSON.stringify(args) },
      };
    }
  }
  return undefined;
}

for (const { program, npm, setUp } of CODING_TOOLS) {
  const path = join(TOOLS, program);
  const isThere = TOOLS !== "" &&
    await Deno.stat(path).then(() => true, () => false);
  Deno.test({
    name:
      `${program} completes a turn with a tool call (npm i ${npm}; COVEY_CODING_TOOLS=node_modules/.bin)`,
    ignore: !isThere,
    async fn() {
      await using stack = new AsyncDisposableStack();
      const { api, router } = apiUnderTest({ clock: createSystemClock() });
      router.listings = [{
        model: MODEL,
        capabilities: ["chat"],
        contextLength: 200_000,
        nodes: [SELF],
        warm: true,
        features: ["tools"],
      }];
      router.answer = (request) => ({
        contentType: "text/event-stream",
        body: scripted(request),
      });
      const listeners = stack.use(
        await openListeners({
          addresses: [{ host: "127.0.0.1", port: 0 }],
          handle: (request, info) => api.handle(request, info),
          log: new QuietLog(),
          clock: createSystemClock(),
        }),
      );
      const [at] = listeners.addresses;
      const home = await Deno.makeTempDir({ prefix: "covey-coding-" });
      stack.defer(() => Deno.remove(home, { recursive: true }));
      const { args, env } = await setUp(home, `http://127.0.0.1:${at?.port}`);
      const ran = await new Deno.Command(path, {
        args: [...args],
        cwd: home,
        clearEnv: true,
        env: {
          PATH: Deno.env.get("PATH") ?? "",
          HOME: home,
          TERM: "dumb",
          ...env,
        },
        stdin: "null",
        signal: AbortSignal.timeout(BOUND_MS),
      }).output();
      const said = new TextDecoder().decode(ran.stdout);
      const seen = router.requests.map(({ body }) => JSON.stringify(body));
      assert.equal(ran.code, 0, new TextDecoder().decode(ran.stderr));
      assert.match(said, new RegExp(FINAL));
      // What the tool printed came back to the model as the tool's result.
      const results = router.requests.flatMap(({ body }) => body.messages)
        .filter((message) => isJsonObject(message) && message.role === "tool")
        .map((message) => JSON.stringify(message));
      assert(
        results.some((text) => text.includes(MARK)),
        `No result among ${seen.length} requests`,
      );
    },
  });
}
