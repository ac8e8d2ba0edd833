import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  CopyHelp,
  JsonObject,
  JsonValue,
  PullAllies,
} from "@covey/core/domain";
import { begunCopies } from "./begun_copies.ts";
import type { CopiesOptions, CopyAction } from "./copies_options.ts";
import type { CopyService } from "./copy_service.ts";

/**
 * Copies of models between members, and what members ask of them on the link.
 * What does the work is loaded with the first copy: a node at rest pays nothing.
 */
export class ClusterCopies implements AsyncDisposable {
  readonly #options: CopiesOptions;
  #service: Promise<CopyService> | null = null;
  /** The same once it is there. */
  #opened: CopyService | null = null;
  #isClosed = false;

  constructor(options: CopiesOptions) {
    this.#options = options;
  }

  /** Go on with copies that an earlier start began, where there are any. */
  async start(): Promise<void> {
    const { host, platform: { files } } = this.#options;
    const { config, log, models } = host;
    if (models === undefined) return;
    try {
      if (config.placeModels === true) await this.#open();
      if ((await begunCopies(files, models.folder)).length === 0) return;
      await (await this.#open()).resume();
    } catch (error) {
      log.warn("Failed to go on with copies that were begun", {
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }

  /** Whether a path of the link is one of copies. */
  owns(path: string): boolean {
    return path.startsWith("/covey/1/models/") ||
      path.startsWith("/covey/1/copies") || path === "/covey/1/pulls" ||
      path.startsWith("/covey/1/pulls/");
  }

  /** Members as pulls ask them first. */
  readonly allies: PullAllies = {
    turn: async (want, tell, signal) => {
      const { turns } = await this.#open();
      return turns === null
        ? { kind: "fetch", lease: { tell() {}, [Symbol.dispose]() {} } }
        : await turns.turn(want, tell, signal);
    },
    offers: async (source, signal) => {
      const { turns } = await this.#open();
      return turns === null ? [] : await turns.offers(source, signal);
    },
    copy: async (want, tell, signal) => {
      const { turns } = await this.#open();
      return turns === null ? null : await turns.copy(want, tell, signal);
    },
    forget: (pull) => {
      // Where nothing was ever copied there is nothing to drop.
      this.#service?.then(({ turns }) => turns?.forget(pull), () => {});
    },
  };

  /** What this node does about a model's demand; null for nothing. */
  help(model: string): CopyHelp | null {
    return this.#opened?.help(model) ?? null;
  }

  /** Answer a member. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    await (await this.#open()).answer(path, request, response);
  }

  /**
   * Do what an operator asks.
   *
   * @throws {Fault} With a reason and a remedy where it can not be done.
   */
  async act(
    action: CopyAction,
    body: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue> {
    return await (await this.#open()).act(action, body, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await (await this.#service)?.[Symbol.asyncDispose]();
  }

  #open(): Promise<CopyService> {
    if (this.#isClosed) {
      return Promise.reject(
        new DOMException("The node is stopping", "AbortError"),
      );
    }
    const opening = this.#service ?? import("./copy_service.ts").then(
      ({ CopyService }) => this.#opened = new CopyService(this.#options),
    );
    this.#service = opening;
    return opening;
  }
}
