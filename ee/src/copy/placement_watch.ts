import type { CopyHelp, Counter, Offer, WorkReport } from "@covey/core/domain";
import type { Peer } from "../membership/peer.ts";
import type { CopiesOptions } from "./copies_options.ts";
import { askCopy, listCopies } from "./copy_calls.ts";
import type { CopyDesk } from "./copy_desk.ts";
import type { CopyAsk, CopyView } from "./copy_view.ts";
import {
  decidePlacement,
  type HeldModel,
  NO_PLACEMENT,
  type PlacedMember,
  type PlacementAsk,
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

/** Who was asked, or could not be, is told for as long as no other copy is asked for. */
const ANSWERED: ReadonlySet<CopyHelp["state"]> = new Set([
  "asked",
  "failed",
  "copying",
]);

/** What placement needs. */
export interface PlacementOptions
  extends Pick<CopiesOptions, "audit" | "host" | "platform" | "peers"> {
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
  /** By root, what is to be said of models that too many ask for. */
  #help = new Map<string, CopyHelp>();

  constructor(options: PlacementOptions) {
    this.#options = options;
    this.#asked = options.host.metrics.counter(
      "covey_placement_copies_total",
      "Times that this node would have a model copied because its holders were saturated: a member was asked, could not be asked, or none could take it.",
      ["outcome"],
    );
    this.#timer = options.platform.clock.every(LOOK_EVERY_MS, () => {
      if (!this.#isLooking) void this.#look();
    });
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  /** What is done about a model's demand, by its name here; null for nothing. */
  help(model: string): CopyHelp | null {
    const offers = this.#options.host.router.report().engines
      .flatMap((engine) => engine.offers);
    const root = offers.find((one) => one.model === model)?.root ?? null;
    return root === null ? null : this.#help.get(root) ?? null;
  }

  async #look(): Promise<void> {
    const { host, peers, platform: { clock } } = this.#options;
    this.#isLooking = true;
    try {
      const { node, router } = host;
      const { ask, help, memory } = decidePlacement(this.#memory, {
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
      this.#take(help);
      const peer = peers.list().find(({ row }) => row.id === ask?.to);
      if (ask !== null && peer !== undefined) await this.#ask(ask, peer);
    } finally {
      this.#isLooking = false;
    }
  }

  /** Keep what is to be said, and log once what an operator could help with. */
  #take(help: ReadonlyMap<string, CopyHelp>): void {
    const before = this.#help;
    this.#help = new Map(help);
    for (const [root, { state, reason }] of help) {
      const was = before.get(root);
      // Who was asked, and why, stands in the sentence of then.
      if (state === "resting" && was !== undefined && ANSWERED.has(was.state)) {
        this.#help.set(root, was);
      }
      if (state !== "nowhere" || was?.state === "nowhere") continue;
      this.#asked.add(1, { outcome: "nowhere" });
      this.#options.host.log.warn(
        "No member can take a copy of a model that too many ask for",
        { root, reason },
      );
    }
  }

  async #ask(ask: PlacementAsk, peer: Peer): Promise<void> {
    const { audit, host: { log }, life, platform: { clock } } = this.#options;
    const { model, reason, root } = ask;
    const of = { node: peer.row.id, nodeName: peer.monitor.name };
    const means = { clock, signal: life };
    try {
      const copies = await listCopies(peer.channel, of, means);
      if (copies.some(({ state }) => !OVER.has(state))) {
        this.#help.set(root, {
          state: "copying",
          reason: `"${of.nodeName}" makes another copy just now`,
        });
        return;
      }
      const along = await this.#companionsOf(root);
      await askCopy(
        peer.channel,
        { root, model, bytesPerSecond: null, reason, ...along },
        of,
        means,
      );
      this.#asked.add(1, { outcome: "asked" });
      const { node: id, nodeName: name } = of;
      log.info("A model is copied to an idle member", {
        model,
        member: name,
        reason,
      });
      audit.note({ event: "copy_asked", model, name, id, reason });
    } catch (error) {
      if (life.aborted) return;
      const why = error instanceof Error ? error.message : String(error);
      this.#asked.add(1, { outcome: "failed" });
      this.#help.set(root, {
        state: "failed",
        reason: `"${of.nodeName}" could not be asked for a copy: ${why}`,
      });
      log.warn("Failed to have a model copied to an idle member", {
        model,
        member: of.nodeName,
        reason: why,
      });
    }
  }

  /** A model is placed by one that has it, and what goes with it too. */
  async #companionsOf(root: string): Promise<Pick<CopyAsk, "companions">> {
    const { models } = this.#options.host;
    const model = models?.list().find((one) => one.root === root)?.name;
    const along = model === undefined
      ? null
      : await models?.companions?.(model) ?? null;
    return along === null ? {} : { companions: along.root };
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
