import type { PackArchive, PackShelf } from "../../domain/mod.ts";
import { type Files, ifThere } from "../../platform/mod.ts";
import { archiveFile, packageFolder } from "./packs_folder.ts";
import { type EnginePack, type PackPackage, PACKS } from "./pack_table.ts";

/**
 * The archives of packs that were added here, for members that can not reach
 * the registry. They are kept beside what was unpacked, since the digest that a
 * build knows is the archive's: of unpacked files nothing could be proved.
 */
export class PackArchives implements PackShelf {
  readonly #files: Pick<Files, "open" | "stat">;
  readonly #folder: string;
  readonly #packages: readonly PackPackage[];

  /**
   * @param files The file system.
   * @param folder Where packs lie.
   * @param packs Packs there are; this release's own unless a test says otherwise.
   */
  constructor(
    files: Pick<Files, "open" | "stat">,
    folder: string,
    packs: readonly EnginePack[] = PACKS,
  ) {
    this.#files = files;
    this.#folder = folder;
    this.#packages = packs.flatMap(({ packages }) => packages);
  }

  async list(): Promise<readonly PackArchive[]> {
    return await this.#those((one) => this.#isKept(one));
  }

  async unkept(): Promise<readonly PackArchive[]> {
    return await this.#those(async (one) => {
      const used = `${packageFolder(this.#folder, one.name)}/package.json`;
      return await ifThere(this.#files.stat(used)) !== null &&
        !await this.#isKept(one);
    });
  }

  async read(
    integrity: string,
    offset: number,
    length: number,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const one = this.#packages.find((each) => each.integrity === integrity);
    if (one === undefined || offset >= one.sizeBytes) return null;
    using file = await ifThere(
      this.#files.open(archiveFile(this.#folder, one.name)),
    );
    return await file?.read(offset, Math.min(length, one.sizeBytes - offset)) ??
      null;
  }

  async #isKept({ name, sizeBytes }: PackPackage): Promise<boolean> {
    const stat = await ifThere(
      this.#files.stat(archiveFile(this.#folder, name)),
    );
    return stat?.sizeBytes === sizeBytes;
  }

  async #those(
    holds: (one: PackPackage) => Promise<boolean>,
  ): Promise<readonly PackArchive[]> {
    const found = await Promise.all(
      this.#packages.map(async (one) => {
        const { integrity, sizeBytes } = one;
        return await holds(one) ? [{ integrity, sizeBytes }] : [];
      }),
    );
    return found.flat();
  }
}
