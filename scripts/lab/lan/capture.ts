import { type Captured, readPcap } from "./pcap.ts";
import type { TestLan } from "./test_lan.ts";

const LAST_FRAMES_MS = 300;

/** A capture of every frame that passes the switch. */
export interface Capture extends AsyncDisposable {
  /** End it and read what passed. */
  end(): Promise<Captured>;
}

/**
 * Begin a capture.
 *
 * @param lan The LAN.
 * @returns The capture, once it hears.
 */
export async function captureLan(lan: TestLan): Promise<Capture> {
  const [program = "", ...args] = lan.command(
    ...[
      "tcpdump",
      "-i",
      "br0",
      "-s",
      "0",
      "-U",
      "-n",
      "--immediate-mode",
      "-w",
      "-",
    ],
  );
  const child = new Deno.Command(program, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const file = new Response(child.stdout).arrayBuffer();
  const heard = Promise.withResolvers<void>();
  const errors = listen(child.stderr, heard.resolve);
  await heard.promise;
  let ended: Promise<Captured> | undefined;
  async function stop(): Promise<Captured> {
    // The last frames may be on their way from the kernel still.
    await new Promise((resolve) => setTimeout(resolve, LAST_FRAMES_MS));
    child.kill("SIGINT");
    await child.status;
    await errors;
    return readPcap(new Uint8Array(await file));
  }
  const end = () => ended ??= stop();
  return {
    end,
    [Symbol.asyncDispose]: async () => {
      await end();
    },
  };
}

async function listen(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  heard: () => void,
): Promise<void> {
  let text = "";
  for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes("listening on")) heard();
  }
  // Also when it never listened, so that nobody waits for ever.
  heard();
}
