import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type CopyHelp,
  distinctNames,
  type JsonObject,
  type JsonValue,
  type ModelManifest,
  type ModelShelf,
} from "@covey/core/domain";
import { readBody } from "../link/read_body.ts";
import { WireError } from "../link/wire_error.ts";
import type { CopiesOptions, CopyAction } from "./copies_options.ts";
import { change, list, startCopies } from "./copy_actions.ts";
import { COPIES_PATH } from "./copy_calls.ts";
import { CopyDesk } from "./copy_desk.ts";
import { CopyError } from "./copy_error.ts";
import { CopyPace } from "./copy_pace.ts";
import { parseCopyAsk } from "./copy_view.ts";
import type { Holding } from "./holding.ts";
import { ModelSender } from "./model_sender.ts";
import { PlacementWatch } from "./placement_watch.ts";
import { PullAnswers } from "./pull_answers.ts";
import { PULLS_PATH } from "./pull_call.ts";
import type { PullMember } from "./pull_follower.ts";
import { PullTurns } from "./pull_turns.ts";
import { reply } from "./reply.ts";

const ASK_LIMITS = { maxBytes: 128 * 1024, limitMs: 5000 };

/** Both ends of copying on this node: what it receives, and what it sends. */
export class CopyService implements AsyncDisposable {
  readonly desk: CopyDesk | null;
  /** What pulls ask first; null where this node keeps no models. */
  readonly turns: PullTurns | null;
  readonly #options: CopiesOptions;
  /** Null where nobody asked for it. */
  readonly #placement: PlacementWatch | null;
  readonly #sender: ModelSender;
  readonly #answers: PullAnswers;
  readonly #life = new AbortController();
  /** The manifest read last, by root: each chunk sent asks for it. */
  #recent: { readonly name: string; readonly manifest: ModelManifest } | null =
    null;

  constructor(options: CopiesOptions) {
    const { host, identity, platform } = options;
    const { log, machine, models, node } = host;
    const { clock, entropy, files } = platform;
    this.#options = options;
    const isBusy = () => this.#isBusy();
    this.desk = models === undefined ? null : new CopyDesk({
      shelf: models,
      files,
      clock,
      entropy,
      log,
      machine,
      credentials: identity,
      candidates: () => this.#candidates(),
      isBusy,
      self: { node: node.id, nodeName: node.name },
    });
    this.turns = models === undefined || this.desk === null
      ? null
      : new PullTurns({
        self: { node: node.id, nodeName: node.name },
        shelf: models,
        desk: this.desk,
        clock,
        entropy,
        log,
        credentials: identity,
        peers: () => options.peers.list(),
        candidates: () => this.#candidates(),
        isBusy,
        life: this.#life.signal,
      });
    this.#placement = this.desk === null ||
        host.config.placeModels !== true
      ? null
      : new PlacementWatch({
        ...options,
        desk: this.desk,
        life: this.#life.signal,
      });
    this.#sender = new ModelSender({
      find: (root) => this.#find(root),
      pace: new CopyPace({ clock, isBusy, bytesPerSecond: null }),
      log,
      life: this.#life.signal,
    });
    this.#answers = new PullAnswers({
      shelf: models ?? null,
      turns: this.turns,
      sender: this.#sender,
      clock,
    });
    if (this.turns !== null) options.pulls.showOn(this.turns);
  }

  /** Go on with what an earlier start began. */
  async resume(): Promise<void> {
    await this.desk?.resume();
  }

  /** What this node does about a model's demand; null for nothing. */
  help(model: string): CopyHelp | null {
    return this.#placement?.help(model) ?? null;
  }

  /** Do what an operator asks; see `ClusterCopies`. */
  async act(
    action: CopyAction,
    body: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue> {
    const means = { ...this.#options, desk: this.desk };
    switch (action) {
      case "copy":
        return await startCopies(body, means, signal);
      case "copies":
        return await list(means, signal);
      case "cancel_copy":
        return await change("cancel", body, means, signal);
      case "pause_copy":
        return await change("pause", body, means, signal);
      case "resume_copy":
        return await change("resume", body, means, signal);
      default:
        return action satisfies never;
    }
  }

  /** Answer a member on the link. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { method } = request;
    if (path.startsWith(PULLS_PATH)) {
      return await this.#answers.answer(path, request, response);
    }
    if (!path.startsWith(COPIES_PATH)) {
      return method === "GET"
        ? await this.#sender.answer(path, request, response)
        : reply(response, 404, "There is nothing here");
    }
    const rest = path.slice(COPIES_PATH.length);
    const { desk } = this;
    if (desk === null) return reply(response, 404, "No models are kept here");
    if (method === "GET" && rest === "") {
      return reply(response, 200, { copies: desk.list() });
    }
    const [, id, asked] =
      /^\/([0-9a-f-]{36})\/(cancel|pause|resume)$/.exec(rest) ?? [];
    if (method === "POST" && id !== undefined) {
      const view = asked === "cancel"
        ? desk.cancel(id)
        : asked === "pause"
        ? await desk.pause(id)
        : desk.resumeOne(id);
      return view === undefined
        ? reply(response, 404, "There is no such copy")
        : reply(response, 200, { copies: [view] });
    }
    if (method !== "POST" || rest !== "") {
      return reply(response, 404, "There is nothing here");
    }
    const { clock } = this.#options.platform;
    const body = await readBody(request, ASK_LIMITS, clock);
    if (body.kind !== "body") return reply(response, 400, "No body came");
    try {
      reply(response, 200, { copies: [desk.start(parseCopyAsk(body.bytes))] });
    } catch (error) {
      if (!(error instanceof WireError || error instanceof CopyError)) {
        throw error;
      }
      reply(response, 400, error.message);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new DOMException("The node is stopping", "AbortError"));
    this.#placement?.[Symbol.dispose]();
    await this.desk?.[Symbol.asyncDispose]();
  }

  #isBusy(): boolean {
    return this.#options.host.router.report().engines.some(({ offers }) =>
      offers.some(({ queue }) => queue.runningMs.length > 0)
    );
  }

  #candidates(): readonly PullMember[] {
    const peers = this.#options.peers.list().filter(({ monitor }) =>
      monitor.health.state !== "offline"
    );
    const names = distinctNames(
      peers.map(({ monitor, row }) => ({ id: row.id, name: monitor.name })),
    );
    return peers.map(({ channel, row }) => ({
      node: row.id,
      name: names.get(row.id) ?? row.id,
      channel,
    }));
  }

  async #find(root: string): Promise<Holding | null> {
    const shelf = this.#options.host.models;
    const name = shelf?.list().find((one) => one.root === root)?.name;
    if (shelf === undefined) return null;
    if (name === undefined) {
      return this.desk?.holding(root) ?? await companionHolding(shelf, root);
    }
    const recent = this.#recent;
    const manifest = recent?.name === name && recent.manifest.root === root
      ? recent.manifest
      : await shelf.manifest(name);
    if (manifest?.root !== root) return null;
    this.#recent = { name, manifest };
    return wholeOf(shelf, manifest, name);
  }
}

/** What goes with a model here, by its own root. */
async function companionHolding(
  shelf: ModelShelf,
  root: string,
): Promise<Holding | null> {
  for (const { name: model } of shelf.list()) {
    const manifest = await shelf.companions?.(model) ?? null;
    if (manifest?.root !== root) continue;
    return {
      manifest,
      held: () => null,
      has: () => true,
      read: async ({ file, position: chunk }, room) =>
        await shelf.readCompanion?.({ model, file, chunk }, room) ?? null,
    };
  }
  return null;
}

function wholeOf(
  shelf: ModelShelf,
  manifest: ModelManifest,
  name: string,
): Holding {
  return {
    manifest,
    held: () => null,
    has: () => true,
    read: ({ file, position }, room) =>
      shelf.readChunk(name, file, position, room),
  };
}
