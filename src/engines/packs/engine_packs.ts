import { Fault, type PackArchive, type PackView } from "../../domain/mod.ts";
import { type Clock, type Files, ifThere } from "../../platform/mod.ts";
import type { PackSource } from "./pack_source.ts";
import { type EnginePack, type PackPackage, PACKS } from "./pack_table.ts";
import { archiveFile, packageFolder } from "./packs_folder.ts";
import { unpackPackage } from "./unpack_package.ts";

/** Longest wait for a source's word, an answer's head, or between two pieces of its body. */
const SILENCE_MS = 60_000;

/** What packs are kept with. */
export interface EnginePacksOptions {
  readonly clock: Clock;
  readonly files: Files;
  /** Where packs lie: one folder a release, so that an upgrade finds none of an older one. */
  readonly folder: string;
  /** This machine, in Deno's words. */
  readonly os: string;
  readonly arch: string;
  /** Packs there are; this release's own unless a test says otherwise. */
  readonly packs?: readonly EnginePack[];
}

/** GPU libraries for llama.cpp: which there are, and their coming and going. */
export class EnginePacks {
  readonly #options: EnginePacksOptions;
  readonly #packs: readonly EnginePack[];

  /** @param options Where they lie. */
  constructor(options: EnginePacksOptions) {
    this.#options = options;
    this.#packs = options.packs ?? PACKS;
  }

  /** Every pack, with what stands of it here. */
  async list(): Promise<readonly PackView[]> {
    return await Promise.all(this.#packs.map((pack) => this.#viewOf(pack)));
  }

  /** What stands of one pack here; throws as `add` where there is none of that name. */
  async view(name: string): Promise<PackView> {
    return await this.#viewOf(this.#find(name));
  }

  /**
   * What a pack is fetched as.
   *
   * @throws {Fault} When there is none of that name for this machine.
   */
  archivesOf(name: string): readonly PackArchive[] {
    return this.#find(name).packages;
  }

  /**
   * Fetch a pack. One that is there is left as it is.
   *
   * @param name Of the pack.
   * @param source Who gives it.
   * @param onBytes Told how many of its bytes came so far.
   * @param signal Aborting it leaves nothing behind that would be used.
   * @throws {Fault} When there is none of that name for this machine, when what came is not it, or another process adds one now.
   * @throws {FileError} When it can not be written.
   */
  async add(
    name: string,
    source: PackSource,
    onBytes: (bytes: number, ofBytes: number) => void,
    signal: AbortSignal,
  ): Promise<PackView> {
    const pack = this.#find(name);
    const { clock, files, folder } = this.#options;
    await files.makeFolder(folder, 0o755);
    using lock = await files.lock(`${folder}/.lock`);
    if (lock === null) throw elsewhere(name);
    const silent = new AbortController();
    const wait = () =>
      clock.after(SILENCE_MS, () => silent.abort(silentFor(name, source)));
    let silence = wait();
    const ends = AbortSignal.any([signal, silent.signal]);
    let doneBytes = 0;
    const heard = (bytes: number) => {
      silence[Symbol.dispose]();
      silence = wait();
      onBytes(doneBytes + bytes, sizeOf(pack));
    };
    try {
      for (const one of await this.#missing(pack)) {
        await this.#fetch(one, source, heard, ends);
        doneBytes += one.sizeBytes;
      }
    } catch (error) {
      silent.signal.throwIfAborted();
      throw error;
    } finally {
      silence[Symbol.dispose]();
    }
    return await this.#viewOf(pack);
  }

  /**
   * Remove a pack; one that is not there is no error.
   *
   * @throws {Fault} When there is none of that name for this machine.
   */
  async remove(name: string): Promise<void> {
    const { files, folder } = this.#options;
    const pack = this.#find(name);
    for (const one of pack.packages) {
      await files.remove(packageFolder(folder, one.name));
      await files.remove(archiveFile(folder, one.name));
    }
  }

  /** Fetch a package and put it and its archive in place, whole or not at all. */
  async #fetch(
    one: PackPackage,
    source: PackSource,
    onBytes: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { files, folder } = this.#options;
    const coming = `${folder}/.coming`;
    const archive = `${folder}/.coming.tgz`;
    try {
      await files.remove(coming);
      await files.remove(archive);
      await unpackPackage(await source.open(one, signal), one, {
        folder: coming,
        archive,
        files,
        remedy: source.remedy,
        onBytes,
      });
      const place = packageFolder(folder, one.name);
      await files.remove(place);
      await files.makeFolder(place.slice(0, place.lastIndexOf("/")), 0o755);
      await files.rename(archive, archiveFile(folder, one.name));
      // What makes it installed comes last.
      await files.rename(coming, place);
    } finally {
      await files.remove(coming);
      await files.remove(archive);
    }
  }

  async #viewOf(pack: EnginePack): Promise<PackView> {
    return {
      name: pack.name,
      cards: pack.cards,
      state: !this.#fits(pack)
        ? "other_machine"
        : (await this.#missing(pack)).length === 0
        ? "installed"
        : "available",
      sizeBytes: sizeOf(pack),
    };
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

  async #missing({ packages }: EnginePack): Promise<EnginePack["packages"]> {
    const { files, folder } = this.#options;
    const found = await Promise.all(
      packages.map(({ name }) =>
        ifThere(files.stat(`${packageFolder(folder, name)}/package.json`))
      ),
    );
    return packages.filter((_one, index) => found[index] === null);
  }
}

function sizeOf({ packages }: EnginePack): number {
  return packages.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

function silentFor(name: string, { remedy }: PackSource): Fault {
  return new Fault(
    "hub_failed",
    `Failed to fetch "${name}": nothing came for ${
      SILENCE_MS / 1_000
    } s. ${remedy}`,
  );
}

function elsewhere(name: string): Fault {
  return new Fault(
    "conflict",
    `Failed to add "${name}": another engine pack is being added here; try again when it is done`,
  );
}
