import type { NodeConfig } from "../config/mod.ts";
import { type Command, DENIED, DONE, FAILED, WRONG_USAGE } from "./command.ts";

/** A node that serves. */
export interface ServedNode extends AsyncDisposable {
  readonly urls: readonly string[];
}

/** What `serve` is given by the process edge. */
export interface ServeEdge {
  /** What `--help` lists. */
  help(): string;
  /** Read flags, environment and covey.jsonc. */
  readConfig(flags: readonly string[]): Promise<
    | {
      readonly kind: "ok";
      readonly config: NodeConfig;
      readonly notices: readonly string[];
    }
    | {
      readonly kind: "bad";
      /** The variable, or the flag that does not exist. */
      readonly variable: string;
      readonly line: string;
      /** Whether the system denied it to this user; absent for no. */
      readonly denied?: boolean;
    }
  >;
  /**
   * Start the node.
   *
   * @throws {Error} One whose name is `StartError` carries a line for the terminal, and in `denied` whether the system denied it.
   */
  start(config: NodeConfig, notices: readonly string[]): Promise<ServedNode>;
  /** Resolves when the process is asked to end; disposing of it says that it is about to. */
  asked(): Promise<Disposable>;
}

/**
 * Make the command that runs a node until it is asked to end.
 *
 * @param edge The process around it.
 * @returns The command.
 */
export function serveCommand(edge: ServeEdge): Command {
  return {
    name: "serve",
    summary: "Run a node",
    usage: "[--<setting> VALUE …]",
    help: () => edge.help(),
    async run(flags, context) {
      const read = await edge.readConfig(flags);
      if (read.kind === "bad") {
        context.stderr(read.line);
        if (read.denied) return DENIED;
        // A line on a flag begins with it, also where its value is what is wrong.
        const isFlag = read.variable.startsWith("--") ||
          read.line.startsWith("--");
        return isFlag ? WRONG_USAGE : FAILED;
      }
      let node: ServedNode;
      try {
        node = await edge.start(read.config, read.notices);
      } catch (error) {
        if (!(error instanceof Error && error.name === "StartError")) {
          throw error;
        }
        context.stderr(error.message);
        return "denied" in error && error.denied === true ? DENIED : FAILED;
      }
      await using running = new AsyncDisposableStack();
      running.use(node);
      for (const url of node.urls) {
        context.stdout(`Covey is ready at ${url}`);
        if (isReadable(url)) {
          context.stdout(
            "It has no TLS there: keys and prompts are readable on the network",
          );
        }
      }
      const stop = await edge.asked();
      // Heard until the node is gone: who asks twice does not want to wait.
      await running.disposeAsync();
      stop[Symbol.dispose]();
      return DONE;
    },
  };
}

/** Whether what goes there passes a network as it is. */
function isReadable(url: string): boolean {
  const { hostname, protocol } = new URL(url);
  return protocol === "http:" && hostname !== "localhost" &&
    hostname !== "[::1]" && !hostname.startsWith("127.");
}
