import type { IncomingMessage, ServerResponse } from "node:http";
import {
  distinctNames,
  type Host,
  type PackAllies,
  type PackShelf,
} from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";
import type { Peers } from "../membership/peers.ts";
import type { PackMember } from "./member_giver.ts";
import type { PackSender } from "./pack_sender.ts";
import { PACKS_PATH } from "./packs_path.ts";

/** What handing packs around needs of the cluster. */
export interface ClusterPacksOptions {
  readonly host: Host;
  readonly platform: Platform;
  readonly peers: Peers;
}

/**
 * Engine packs between members, both ways. What does the work is loaded when
 * somebody asks: few nodes ever do.
 */
export class ClusterPacks implements Disposable {
  readonly #options: ClusterPacksOptions;
  readonly #life = new AbortController();
  #sender: Promise<PackSender> | null = null;

  constructor(options: ClusterPacksOptions) {
    this.#options = options;
  }

  /** Whether a path of the link is one of packs that this node keeps. */
  owns(path: string): boolean {
    return this.#options.host.packs !== undefined &&
      (path === PACKS_PATH || path.startsWith(`${PACKS_PATH}/`));
  }

  /** Answer a member. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { packs } = this.#options.host;
    if (packs === undefined) throw new Error("No packs are kept here");
    await (await this.#open(packs)).answer(path, request, response);
  }

  /** The other members. */
  readonly allies: PackAllies = {
    givers: async (signal) => {
      const { meetGiver } = await import("./member_giver.ts");
      const { clock } = this.#options.platform;
      const met = await Promise.all(
        this.#members().map((one) => meetGiver(one, clock, signal)),
      );
      return met.filter((giver) => giver !== null);
    },
  };

  [Symbol.dispose](): void {
    this.#life.abort(new DOMException("The node is stopping", "AbortError"));
  }

  #members(): readonly PackMember[] {
    const peers = this.#options.peers.list()
      .filter(({ monitor }) => monitor.health.state !== "offline");
    const names = distinctNames(
      peers.map(({ monitor, row }) => ({ id: row.id, name: monitor.name })),
    );
    return peers.map(({ channel, row: { id } }) => ({
      id,
      name: names.get(id) ?? id,
      channel,
    }));
  }

  #open(shelf: PackShelf): Promise<PackSender> {
    const opening = this.#sender ?? this.#load(shelf);
    this.#sender = opening;
    return opening;
  }

  async #load(shelf: PackShelf): Promise<PackSender> {
    const [{ PackSender }, { CopyPace }] = await Promise.all([
      import("./pack_sender.ts"),
      import("../copy/copy_pace.ts"),
    ]);
    const { host: { router }, platform: { clock } } = this.#options;
    const pace = new CopyPace({
      clock,
      isBusy: () => isBusy(router.report()),
      bytesPerSecond: null,
    });
    return new PackSender({ shelf, pace, life: this.#life.signal });
  }
}

/** Whether this node answers callers now. */
function isBusy({ engines }: ReturnType<Host["router"]["report"]>): boolean {
  return engines.some(({ offers }) =>
    offers.some(({ queue }) => queue.runningMs.length > 0)
  );
}
