import { join } from "node:path";
import { eventually } from "../../lab/eventually.ts";
import type { LanHost } from "../../lab/lan/lan_host.ts";
import { endOf } from "../../lab/lan/run_program.ts";

const HTTP_PORT = 8099;
const RSYNC_PORT = 8730;

/** Where from and where to. */
export interface OtherWay {
  readonly from: LanHost;
  readonly to: LanHost;
  readonly path: string;
  /** Where what is fetched may lie. */
  readonly folder: string;
}

/** Fetch a file with curl over plain HTTP; milliseconds it took. */
export async function curlMs(
  { folder, from, path, to }: OtherWay,
): Promise<number> {
  await using _server = await serving(
    from,
    [
      ...[Deno.execPath(), "run", "-A", `${import.meta.dirname}/serve_file.ts`],
      ...[path, String(HTTP_PORT)],
    ],
    HTTP_PORT,
  );
  const target = join(folder, "by-curl");
  const url = `http://${from.address.ipv4}:${HTTP_PORT}/`;
  return await timed(to, target, ["curl", "-sSf", "-o", target, url]);
}

/** Fetch a file with rsync from its daemon; milliseconds it took. */
export async function rsyncMs(
  { folder, from, path, to }: OtherWay,
): Promise<number> {
  const config = join(folder, "rsyncd.conf");
  const source = path.slice(0, path.lastIndexOf("/"));
  await Deno.writeTextFile(
    config,
    `use chroot = no\n[m]\npath = ${source}\nread only = yes\n`,
  );
  await using _server = await serving(
    from,
    [
      ...["rsync", "--daemon", "--no-detach", `--config=${config}`],
      `--port=${RSYNC_PORT}`,
    ],
    RSYNC_PORT,
  );
  const target = join(folder, "by-rsync");
  const url = `rsync://${from.address.ipv4}:${RSYNC_PORT}/m${
    path.slice(path.lastIndexOf("/"))
  }`;
  return await timed(to, target, ["rsync", "-q", "-W", url, target]);
}

async function timed(
  host: LanHost,
  target: string,
  command: readonly string[],
): Promise<number> {
  const startedMs = performance.now();
  const { code, stderr } = await endOf(host.command(...command));
  const tookMs = performance.now() - startedMs;
  if (code !== 0) throw new Error(`${command[0]} failed: ${stderr}`);
  await Deno.remove(target);
  return tookMs;
}

async function serving(
  host: LanHost,
  command: readonly string[],
  port: number,
): Promise<AsyncDisposable> {
  const [program = "", ...args] = host.command(...command);
  const child = new Deno.Command(program, {
    args,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  await eventually("the server beside listens", async () => {
    const tables = await Promise.all(
      ["tcp", "tcp6"].map((table) =>
        Deno.readTextFile(`/proc/${child.pid}/net/${table}`).catch(() => "")
      ),
    );
    return tables.some((text) => text.includes(`:${hex} `)) ? true : undefined;
  });
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
    },
  };
}
