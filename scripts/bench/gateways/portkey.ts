import { join } from "node:path";
import { freePort, startProgram, untilListening } from "../../lab/program.ts";
import type { Way } from "./way.ts";

const PACKAGE = "@portkey-ai/gateway@1.15.2";

/**
 * Put Portkey's gateway in front of the engine, from npm, under Node. It listens
 * on every interface, which it offers no way to change. Streams fail in this
 * version, under Node 20 and 22 and under Deno ("immutable" headers), so that
 * whole answers alone can be compared.
 *
 * @param stack Ends it.
 * @param engineUrl The engine.
 * @param folder Where it is installed, unless it is already.
 * @returns The way, or why there is none.
 */
export async function portkeyWay(
  stack: AsyncDisposableStack,
  engineUrl: string,
  folder: string,
): Promise<Way | string> {
  const script = join(
    folder,
    "node_modules/@portkey-ai/gateway/build/start-server.js",
  );
  try {
    await install(folder, script);
  } catch (error) {
    return `${PACKAGE} cannot be installed, or npm is missing: ${error}`;
  }
  const port = freePort();
  const gateway = stack.use(
    await startProgram(
      ["node", script, `--port=${port}`, "--headless"],
      /\S/,
      folder,
    ),
  );
  await untilListening(port);
  return {
    name: "@portkey-ai/gateway",
    url: `http://127.0.0.1:${port}`,
    headers: {
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `${engineUrl}/v1`,
      authorization: "Bearer none",
    },
    pids: [gateway.pid],
    streams: false,
  };
}

async function install(folder: string, script: string): Promise<void> {
  if (await Deno.stat(script).then(() => true, () => false)) return;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(join(folder, "package.json"), "{}");
  const { success, stderr } = await new Deno.Command("npm", {
    args: ["install", "--ignore-scripts", "--no-audit", "-E", PACKAGE],
    cwd: folder,
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).slice(-300));
}
