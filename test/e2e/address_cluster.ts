import { join } from "node:path";
import { eventually } from "../../scripts/lab/eventually.ts";
import { listMembers } from "../../scripts/lab/members.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { type NodeProcess, startNode } from "../../scripts/lab/node_process.ts";

/** How each node of a cluster is started. */
export interface AddressClusterOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Command line before `serve`; the checkout's own main module by default. */
  readonly command?: readonly string[];
}

/**
 * Real nodes of one cluster that are told each other's addresses. There is no
 * multicast, so that nothing else on this machine is heard, and they meet at
 * once. The first one started is the entry.
 */
export class AddressCluster implements AsyncDisposable {
  readonly #options: AddressClusterOptions;
  readonly #folder: string;
  readonly #secret = newSecret();
  readonly #nodes: NodeProcess[] = [];
  #entry: NodeProcess | null = null;
  #entryLink: string | null = null;

  /** @param folder For the nodes' state; it goes with the cluster. */
  constructor(folder: string, options: AddressClusterOptions = {}) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Base address of the entry. */
  get url(): string {
    if (this.#entry === null) throw new Error("There is no entry yet");
    return this.#entry.url;
  }

  /** Start the entry. */
  async open(config: unknown): Promise<NodeProcess> {
    const entry = await this.#start("entry", config, {});
    this.#entry = entry;
    this.#entryLink = await eventually("the entry's link is open", async () => {
      const [self] = await listMembers(entry.url);
      return self?.addresses[0];
    });
    return entry;
  }

  /** Start a member. */
  add(name: string, config: unknown): Promise<NodeProcess> {
    return this.#start(name, config, { COVEY_PEERS: this.#entryLink ?? "" });
  }

  /** A worker as the entry shows it. */
  // deno-lint-ignore no-explicit-any
  async worker(name: string): Promise<any> {
    const response = await fetch(`${this.url}/fleet/workers/${name}/status`);
    const body = await response.json();
    return response.ok ? body : null;
  }

  /** Wait until the entry gives work to a worker. */
  async isUsed(name: string): Promise<void> {
    await eventually(`${name} is used`, async () => {
      const worker = await this.worker(name);
      const isFit = ["HEALTHY", "DEGRADED"].includes(worker?.state) &&
        worker.checks.engines.length > 0;
      return isFit ? true : undefined;
    });
  }

  /** Ask the entry for something an operator may. */
  async act(method: string, path: string): Promise<Response> {
    return await fetch(`${this.url}${path}`, {
      method,
      headers: { "content-type": "application/json" },
      body: "{}",
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.end("SIGTERM")));
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #start(
    name: string,
    config: unknown,
    env: Readonly<Record<string, string>>,
  ): Promise<NodeProcess> {
    const { command } = this.#options;
    const node = await startNode({
      name,
      dataDir: join(this.#folder, name),
      config,
      ...command === undefined ? {} : { command },
      env: {
        COVEY_CLUSTER_SECRET: this.#secret,
        COVEY_LINK_HOST: "127.0.0.1",
        COVEY_LINK_PORT: "0",
        // No such interface: nobody is looked for.
        COVEY_MDNS_INTERFACES: "none",
        COVEY_PORT: "0",
        ...this.#options.env,
        ...env,
      },
    });
    this.#nodes.push(node);
    return node;
  }
}
