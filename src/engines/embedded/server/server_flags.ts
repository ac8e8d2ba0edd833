import type { HostOptions } from "../host/options.ts";

const MODE: Readonly<Record<HostOptions["mode"], readonly string[]>> = {
  chat: ["--jinja"],
  embedding: ["--embeddings"],
  rerank: ["--rerank"],
};

/**
 * Arguments with which llama.cpp's own server does what an engine process is
 * asked for. An address that ends in `.sock` makes it listen on a Unix socket;
 * its context is for all slots together.
 *
 * @param options What the engine process was started with.
 */
export function serverFlags(options: HostOptions): readonly string[] {
  const { contextPerSlot, gpu, mode, modelPath, slots, socketPath, threads } =
    options;
  return [
    ...["--model", modelPath],
    ...["--host", socketPath],
    ...["--ctx-size", `${contextPerSlot * slots}`],
    ...["--parallel", `${slots}`],
    ...["--threads", `${threads}`],
    ...gpu === "off" ? ["--n-gpu-layers", "0"] : [],
    ...MODE[mode],
    "--no-webui",
  ];
}
