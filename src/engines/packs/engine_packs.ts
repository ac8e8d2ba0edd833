import { Fault } from "../../domain/mod.ts";
import { type Clock, FileError, type Files } from "../../platform/mod.ts";
import { type EnginePack, PACK_VERSION, PACKS } from "./pack_table.ts";
import { unpackPackage } from "./unpack_package.ts";

/** Longest wait for npm's word, an answer's head, or between two pieces of its body. */
const SILENCE_MS = 60_000;

/** What is to be known of a pack. */
export interface PackView {
  readonly name: string;
  /** Which cards it is for. */
  readonly cards: string;
  readonly state: "installed" | "available" | "other_machine";
  /** What fetching it takes, in bytes. */
  readonly sizeBytes: number;
}

/** What packs are fetched with. */
export interface EnginePacksOptions {
  readonly clock: Clock;
  readonly files: Files;
  /** Where packs lie: one folder a release, so that an upgrade finds none of an older one. */
  readonly folder: string;
  /** This machine, in Deno's words. */
  readonly os: string;
  readonly arch: string;
  /** Finds the base address of an npm registry, without a slash at its end; null where none is known. */
  registry(signal: AbortSignal): Promise<string | null>;
  fetch(url: URL, signal: AbortSignal): Promise<Response>;
  /** Packs there are; this release's own unless a test says otherwise. */
  readonly packs?: readonly EnginePack[];
}

/** GPU libraries for llama.cpp: which there are, and their coming and going. */
export class EnginePacks {
  readonly #options: EnginePacksOptions;
  readonly #packs: readonly EnginePack[];

  /** @param options Where from and where to. */
  constructor(options: EnginePacksOptions) {
    this.#options = options;
    this.#packs = options.packs ?? PACKS;
  }

  /** Every pack, with what stands of it here. */
  async list(): Promise<readonly PackView[]> {
    return await Promise.all(this.#packs.map(async (pack) => ({
      name: pack.name,
      cards: pack.cards,
      state: !this.#fits(pack)
        ? "other_machine"
        : await this.#has(pack)
        ? "installed"
        : "available",
      sizeBytes: sizeOf(pack),
    })));
  }

  /**
   * Fetch a pack. One that is there is left as it is.
   *
   * @param name Of the pack.
   * @param onBytes Told how many of its bytes came so far.
   * @param signal Aborting it leaves nothing behind that would be used.
   * @throws {Fault} When there is none of that name for this machine, or what came is not it.
   * @throws {FileError} When it can not be written.
   */
  async add(
    name: string,
    onBytes: (bytes: number, ofBytes: number) => void,
    signal: AbortSignal,
  ): Promise<PackView> {
    const pack = this.#find(name);
    const { clock, files, folder } = this.#options;
    const silent = new AbortController();
    const wait = () =>
      clock.after(SILENCE_MS, () => silent.abort(silentFor(name)));
    let silence = wait();
    const ends = AbortSignal.any([signal, silent.signal]);
    const coming = `${folder}/.coming`;
    let doneBytes = 0;
    try {
      for (const one of await this.#missing(pack)) {
        await files.remove(coming);
        const response = await this.#download(one.name, ends);
        await unpackPackage(
          response,
          one,
          coming,
          files,
          (bytes) => {
            silence[Symbol.dispose]();
            silence = wait();
            onBytes(doneBytes + bytes, sizeOf(pack));
          },
        );
        doneBytes += one.sizeBytes;
        const place = this.#placeOf(one.name);
        await files.remove(place);
        await files.makeFolder(place.slice(0, place.lastIndexOf("/")), 0o755);
        await files.rename(coming, place);
      }
    } catch (error) {
      silent.signal.throwIfAborted();
      throw error;
    } finally {
      silence[Symbol.dispose]();
      await files.remove(coming);
    }
    const { cards } = pack;
    return { name, cards, state: "installed", sizeBytes: sizeOf(pack) };
  }

  /**
   * Remove a pack; one that is not there is no error.
   *
   * @throws {Fault} When there is none of that name for this machine.
   */
  async remove(name: string): Promise<void> {
    const pack = this.#find(name);
    for (const one of pack.packages) {
      await this.#options.files.remove(this.#placeOf(one.name));
    }
  }

  #find(name: string): EnginePack {
    const { arch, os } = this.#options;
    const pack = this.#packs.find((one) => one.name === name);
    const fitting = this.#packs.filter((one) => this.#fits(one));
    const names = fitting.map((one) => one.name).join(" and ");
    if (pack !== undefined && this.#fits(pack)) return pack;
    throw new Fault(
      "invalid_request",
      fitting.length === 0
        ? `There is no engine pack for ${os} on ${arch}: what this machine can use is in the program`
        : `There is no engine pack "${
          name.slice(0, 80)
        }" for this machine; there are ${names}`,
    );
  }

  #fits({ arch, os }: EnginePack): boolean {
    return os === this.#options.os && arch === this.#options.arch;
  }

  async #has(pack: EnginePack): Promise<boolean> {
    return (await this.#missing(pack)).length === 0;
  }

  async #missing({ packages }: EnginePack): Promise<EnginePack["packages"]> {
    const found = await Promise.all(
      packages.map(({ name }) =>
        this.#options.files.stat(`${this.#placeOf(name)}/package.json`)
          .then(() => true, (error) => {
            if (error instanceof FileError && error.problem === "missing") {
              return false;
            }
            throw error;
          })
      ),
    );
    return packages.filter((_one, index) => found[index] !== true);
  }

  #placeOf(packageName: string): string {
    return `${this.#options.folder}/${PACK_VERSION}/${packageName}`;
  }

  async #download(
    name: string,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const registry = await this.#options.registry(signal);
    if (registry === null) {
      throw new Fault(
        "hub_failed",
        "Failed to fetch an engine pack: no npm registry is known here; set NPM_CONFIG_REGISTRY to the address of one",
      );
    }
    const file = `${name.slice(name.indexOf("/") + 1)}-${PACK_VERSION}.tgz`;
    const url = new URL(`${registry}/${name}/-/${file}`);
    let response: Response;
    try {
      response = await this.#options.fetch(url, signal);
    } catch (error) {
      signal.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      throw unreachable(url, why, error);
    }
    if (response.ok && response.body !== null) return response.body;
    await response.body?.cancel();
    throw unreachable(url, `it answered ${response.status}`);
  }
}

function sizeOf({ packages }: EnginePack): number {
  return packages.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

function silentFor(name: string): Fault {
  return new Fault(
    "hub_failed",
    `Failed to fetch "${name}": nothing came for ${
      SILENCE_MS / 1_000
    } s; try again, or name another registry in NPM_CONFIG_REGISTRY`,
  );
}

function unreachable(url: URL, why: string, cause?: unknown): Fault {
  return new Fault(
    "hub_failed",
    `Failed to fetch from the registry at ${url.host}: ${why}; NPM_CONFIG_REGISTRY names another one`,
    { cause },
  );
}
