import { join } from "node:path";
import { freePort, startProgram, untilListening } from "../../lab/program.ts";
import type { Way } from "./way.ts";

/**
 * Put nginx in front of the engine, one process, streams unbuffered, started by
 * hand on loopback with a configuration of its own (Debian: nginx-light).
 *
 * @param stack Ends it.
 * @param engineUrl The engine.
 * @param folder For its files.
 * @returns The way, or why there is none.
 */
export async function nginxWay(
  stack: AsyncDisposableStack,
  engineUrl: string,
  folder: string,
): Promise<Way | string> {
  const program = await found(["/usr/sbin/nginx", "/usr/bin/nginx"]);
  if (program === null) return "nginx is missing: apt-get install nginx-light";
  const port = freePort();
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const config = `daemon off; master_process off; worker_processes 1;
pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http {
  access_log off;
  ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ")}
  upstream engine { server ${new URL(engineUrl).host}; keepalive 1024; }
  server {
    listen 127.0.0.1:${port} backlog=2048;
    keepalive_requests 1000000;
    location / {
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_buffering off;
    }
  }
}
`;
  const file = join(folder, "nginx.conf");
  await Deno.writeTextFile(file, config);
  const nginx = stack.use(
    await startProgram(
      // Its own output is silent, so that nothing tells when it is ready.
      ["/bin/sh", "-c", `echo up; exec ${program} -p ${folder} -c ${file}`],
    ),
  );
  await untilListening(port);
  return {
    name: "nginx",
    url: `http://127.0.0.1:${port}`,
    headers: {},
    pids: [nginx.pid],
    streams: true,
  };
}

async function found(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) {
    if (await Deno.stat(path).then(() => true, () => false)) return path;
  }
  return null;
}
