import type { Counter, Offer, WorkReport } from "@covey/core/domain";
import type { Peer } from "../membership/peer.ts";
import type { CopiesOptions } from "./copies_options.ts";
import { askCopy, listCopies } from "./copy_calls.ts";
import type { CopyDesk } from "./copy_desk.ts";
import type { CopyView } from "./copy_view.ts";
import {
  decidePlacement,
  type HeldModel,
  NO_PLACEMENT,
  type PlacedMember,
  type PlacementMemory,
} from "./placement_rule.ts";

const LOOK_EVERY_MS = 5000;
/** The engine that runs what lies in a models folder. */
const FOLDER_ENGINE = "embedded";
const OVER: ReadonlySet<CopyView["state"]> = new Set([
  "done",
  "failed",
  "cancelled",
]);

/** What placement needs. */
export interface PlacementOptions
  extends Pick<CopiesOptions, "host" | "platform" | "peers"> {
  readonly desk: Pick<CopyDesk, "list">;
  /** Aborts when the node stops. */
  readonly life: AbortSignal;
}

/** Looks now and then whether a model of this node is wanted on an idle member too, and has it copied there. */
export class PlacementWatch implements Disposable {
  readonly #options: PlacementOptions;
  readonly #timer: Disposable;
  readonly #asked: Counter;
  #memory: PlacementMemory = NO_PLACEMENT;
  #isLooking = false;

  constructor(options: PlacementOptions) {
    this.#options = options;
    this.#asked = options.host.metrics.counter(
      "covey_placement_copies_total",
      "Copies that this node asked for by itself, because a model's holders were saturated.",
    );
    this.#timer = options.platform.clock.every(LOOK_EVERY_MS, () => {
      if (!this.#isLooking) void this.#look();
    });
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  async #look(): Promise<void> {
    const { host, life, peers, platform: { clock } } = this.#options;
    this.#isLooking = true;
    try {
      const { node, router } = host;
      const { ask, memory } = decidePlacement(this.#memory, {
        nowMs: clock.monotonic(),
        self: {
          node: node.id,
          name: node.name,
          isTaking: true,
          ...workOf(router.report()),
        },
        peers: peers.list().map(memberOf),
        isCopying: this.#options.desk.list().some(({ state }) =>
          !OVER.has(state)
        ),
      });
      this.#memory = memory;
      const peer = peers.list().find(({ row }) => row.id === ask?.to);
      if (ask === null || peer === undefined) return;
      const of = { node: peer.row.id, nodeName: peer.monitor.name };
      const means = { clock, signal: life };
      const copies = await listCopies(peer.channel, of, means);
      if (copies.some(({ state }) => !OVER.has(state))) return;
      const { model, reason, root } = ask;
      await askCopy(
        peer.channel,
        { root, model, bytesPerSecond: null, reason },
        of,
        means,
      );
      this.#asked.add(1);
      host.log.info("A model is copied to an idle member", {
        model,
        member: of.nodeName,
        reason,
      });
    } catch (error) {
      if (life.aborted) return;
      host.log.warn("Failed to have a model copied to an idle member", {
        reason: error instanceof Error ? error.message : String(error),
      });
    } finally {
      this.#isLooking = false;
    }
  }
}

function memberOf({ monitor, row }: Peer): PlacedMember {
  const work = monitor.held?.status.work;
  const isTaking = monitor.health.state === "healthy" &&
    monitor.availability().kind === "available" && work !== undefined &&
    work.draining !== true && work.withheld === undefined;
  return {
    node: row.id,
    name: monitor.name,
    isTaking,
    ...workOf(work ?? { engines: [], dispatchesSeen: {} }),
  };
}

function workOf({ conditions, engines, machine }: WorkReport) {
  const offers = engines.flatMap((engine) => engine.offers);
  return {
    // One whose machine is not fit is asked for nothing more.
    runsModels: engines.some(({ id }) => id === FOLDER_ENGINE) &&
      conditions?.ok !== false,
    models: offers.flatMap(heldOf),
    queues: offers.map(({ queue }) => queue),
    machine: machine ?? null,
  };
}

function heldOf({ model, queue, root, sizeBytes, state }: Offer): HeldModel[] {
  return root === null || sizeBytes === null ? [] : [{
    model,
    root,
    sizeBytes,
    isWarm: state.kind === "warm",
    queue,
  }];
}
