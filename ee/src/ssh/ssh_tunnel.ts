import type { Log } from "@covey/core/domain";
import type { Child, Clock, Processes } from "@covey/core/platform";
import type { LinkAddress } from "../link/link_address.ts";
import type { LocalPorts } from "./local_port.ts";
import { buildSshCommand, nameSshPeer, type SshPeer } from "./ssh_command.ts";
import { SshOutput } from "./ssh_output.ts";

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** A tunnel that stood this long begins again with the shortest pause. */
const STEADY_MS = 60_000;
const START_LIMIT_MS = 30_000;
const PROBE_MS = 250;
const KILL_AFTER_MS = 2000;

/** How a tunnel fares. */
export type TunnelState =
  | { readonly state: "starting" }
  | {
    readonly state: "up";
    /** This machine's end, which leads to the peer's link. */
    readonly address: LinkAddress;
    /** Port on the peer's loopback that leads back here; null where its ssh server refused one. */
    readonly callbackPort: number | null;
  }
  | {
    readonly state: "down";
    /** The last lines that ssh said. */
    readonly reason: string;
  };

/** What a tunnel needs. */
export interface TunnelOptions {
  readonly peer: SshPeer;
  /** This node's own link as this machine reaches it. */
  readonly ownLink: LinkAddress;
  readonly clock: Clock;
  readonly log: Log;
  readonly processes: Processes;
  readonly ports: LocalPorts;
  /** Variables that ssh may see: its own configuration and agent hang on them. */
  readonly env: Readonly<Record<string, string>>;
  /** Called with each change. */
  onChange(state: TunnelState): void;
}

/**
 * Keeps one ssh tunnel standing: starts it, notices its end, and starts it
 * again after 1 s, 2 s … 60 s. Where the other side refuses a way back, the
 * tunnel goes one way.
 */
export class SshTunnel implements AsyncDisposable {
  readonly name: string;
  readonly #options: TunnelOptions;
  readonly #life = new AbortController();
  readonly #loop: Promise<void>;
  #state: TunnelState = { state: "starting" };
  /** What the log says of it now, so that it is said once. */
  #toldReason: string | null = null;

  constructor(options: TunnelOptions) {
    this.#options = options;
    this.name = nameSshPeer(options.peer);
    this.#loop = this.#run();
  }

  get state(): TunnelState {
    return this.#state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new DOMException("The node is stopping", "AbortError"));
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#life;
    let pauseMs = FIRST_PAUSE_MS;
    let bothWays = true;
    while (!signal.aborted) {
      const startMs = clock.monotonic();
      const end = await this.#once(bothWays, signal);
      if (signal.aborted) return;
      if (bothWays && end.refusedRemote) {
        bothWays = false;
        continue;
      }
      bothWays = true;
      this.#become({ state: "down", reason: end.reason });
      if (clock.monotonic() - startMs >= STEADY_MS) pauseMs = FIRST_PAUSE_MS;
      try {
        await clock.sleep(pauseMs, signal);
      } catch {
        // The node is stopping.
        return;
      }
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      this.#become({ state: "starting" });
    }
  }

  /** One life of the process, from its start to its end. */
  async #once(
    bothWays: boolean,
    signal: AbortSignal,
  ): Promise<{ readonly reason: string; readonly refusedRemote: boolean }> {
    const { clock, env, ownLink, peer, ports, processes } = this.#options;
    const output = new SshOutput();
    let child: Child;
    let localPort: number;
    try {
      localPort = await ports.free();
      if (signal.aborted) return { reason: "stopped", refusedRemote: false };
      child = processes.spawn({
        command: buildSshCommand(peer, {
          localPort,
          ownLink: bothWays ? ownLink : null,
        }),
        env,
      });
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      return {
        reason: `ssh can not be started: ${detail}`,
        refusedRemote: false,
      };
    }
    const ended = new AbortController();
    const ending = AbortSignal.any([signal, ended.signal]);
    const address = { host: "127.0.0.1", port: localPort };
    const up = (callbackPort: number | null) => {
      if (this.#state.state === "up" || ending.aborted) return;
      this.#become({ state: "up", address, callbackPort });
    };
    const reading = this.#read(child, output, () => {
      if (output.allocatedPort !== null) up(output.allocatedPort);
    });
    const probing = bothWays
      ? Promise.resolve()
      : this.#probe(localPort, () => up(null), ending);
    let slow = false;
    using _limit = clock.after(START_LIMIT_MS, () => {
      if (this.#state.state === "up") return;
      slow = true;
      child.kill("SIGTERM");
    });
    const onAbort = () => child.kill("SIGTERM");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const { code } = await this.#reap(child, signal);
    signal.removeEventListener("abort", onAbort);
    ended.abort();
    await Promise.all([reading, probing]);
    return {
      refusedRemote: output.refusedRemote,
      reason: output.reason ??
        (slow
          ? `ssh did not connect within ${START_LIMIT_MS / 1000} s`
          : code === 127
          ? "there is no ssh on this machine"
          : `ssh ended with code ${code}`),
    };
  }

  async #read(
    child: Child,
    output: SshOutput,
    onPiece: () => void,
  ): Promise<void> {
    const drained = child.stdout.pipeTo(new WritableStream());
    try {
      for await (const bytes of child.stderr) {
        output.take(bytes);
        onPiece();
      }
      output.end();
      await drained;
    } catch (error) {
      this.#options.log.debug("The output of ssh ended early", {
        error: error instanceof Error ? error.message : String(error),
      });
    }
  }

  /** Without a way back ssh says nothing when it stands, so its end is tried. */
  async #probe(
    port: number,
    up: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, ports } = this.#options;
    while (!signal.aborted) {
      if (await ports.answers(port)) return up();
      try {
        await clock.sleep(PROBE_MS, signal);
      } catch {
        // ssh ended, or the node is stopping.
        return;
      }
    }
  }

  /** Wait for its end, and see to it once the node is stopping. */
  async #reap(child: Child, signal: AbortSignal) {
    const { clock } = this.#options;
    let timer: Disposable | null = null;
    const insist = () => {
      timer = clock.after(KILL_AFTER_MS, () => child.kill("SIGKILL"));
    };
    signal.addEventListener("abort", insist, { once: true });
    if (signal.aborted) insist();
    try {
      return await child.exited;
    } finally {
      signal.removeEventListener("abort", insist);
      (timer as Disposable | null)?.[Symbol.dispose]();
      // Its other end is gone; that it can not be closed any more is no news.
      await child.stdin.close().catch(() => {});
    }
  }

  #become(state: TunnelState): void {
    const { log, onChange } = this.#options;
    this.#state = state;
    if (state.state === "up") {
      this.#toldReason = null;
      log.info("A tunnel over ssh stands", {
        peer: this.name,
        callback: state.callbackPort !== null,
      });
    } else if (state.state === "down" && state.reason !== this.#toldReason) {
      this.#toldReason = state.reason;
      log.warn("A tunnel over ssh is down; it is tried again", {
        peer: this.name,
        reason: state.reason,
      });
    }
    onChange(state);
  }
}
