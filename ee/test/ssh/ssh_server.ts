/** What the test needs and where it is missing how to get it. */
export function missingSsh(): string | null {
  for (const program of ["/usr/sbin/sshd", "/usr/bin/ssh"]) {
    try {
      Deno.statSync(program);
    } catch {
      return `skipped: no ${program} (apt-get install openssh-server openssh-client)`;
    }
  }
  // sshd refuses to start without its folder, which only root can make.
  return Deno.uid() === 0 ? null : "skipped: sshd needs root here";
}

/** A real sshd on a loopback port that knows one key, and an ssh that holds it. */
export class SshServer implements AsyncDisposable {
  readonly port: number;
  readonly user: string;
  /** PATH whose ssh knows the key and the server. */
  readonly path: string;
  readonly #child: Deno.ChildProcess;
  readonly #folder: string;
  #reading: Promise<void> = Promise.resolve();

  static async open(
    settings: readonly string[] = [],
  ): Promise<SshServer> {
    const folder = await Deno.makeTempDir({ prefix: "covey-ssh-" });
    for (const name of ["host", "user"]) {
      await run("ssh-keygen", [
        "-q",
        "-t",
        "ed25519",
        "-N",
        "",
        "-f",
        `${folder}/${name}`,
      ]);
    }
    // As late as can be: it is free only until somebody takes it.
    const port = freePort();
    await Deno.writeTextFile(
      `${folder}/known_hosts`,
      `[127.0.0.1]:${port} ${await Deno.readTextFile(`${folder}/host.pub`)}`,
    );
    await Deno.writeTextFile(
      `${folder}/ssh`,
      `#!/bin/sh\nexec /usr/bin/ssh -F none -i ${folder}/user -oUserKnownHostsFile=${folder}/known_hosts "$@"\n`,
      { mode: 0o755 },
    );
    await Deno.mkdir("/run/sshd", { recursive: true });
    const child = new Deno.Command("/usr/sbin/sshd", {
      args: [
        "-D",
        "-e",
        "-f",
        "/dev/null",
        "-p",
        String(port),
        "-h",
        `${folder}/host`,
        "-oListenAddress=127.0.0.1",
        `-oPidFile=${folder}/pid`,
        `-oAuthorizedKeysFile=${folder}/user.pub`,
        "-oStrictModes=no",
        "-oUsePAM=no",
        ...settings,
      ],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const server = new SshServer(folder, port, child);
    await server.#listening();
    return server;
  }

  private constructor(
    folder: string,
    port: number,
    child: Deno.ChildProcess,
  ) {
    this.#folder = folder;
    this.#child = child;
    this.port = port;
    this.user = Deno.env.get("USER") ?? "root";
    this.path = `${folder}:/usr/bin:/bin`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await Promise.all([this.#child.status, this.#reading]);
    await Deno.remove(this.#folder, { recursive: true });
  }

  /** Wait until it listens, and read on, so that its words do not fill the pipe. */
  async #listening(): Promise<void> {
    let said = "";
    const listening = Promise.withResolvers<void>();
    this.#reading = (async () => {
      const text = this.#child.stderr.pipeThrough(new TextDecoderStream());
      for await (const piece of text) {
        said = (said + piece).slice(-4096);
        if (said.includes("Server listening")) listening.resolve();
      }
      listening.reject(new Error(`sshd did not start: ${said}`));
    })();
    await listening.promise;
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, {
    args: [...args],
    stdin: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
