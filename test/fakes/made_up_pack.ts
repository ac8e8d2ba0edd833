import { createHash } from "node:crypto";
import { packTar } from "modern-tar";
import type { PackAllies, PackCare, PackShelf } from "../../src/domain/mod.ts";
import { EnginePacks } from "../../src/engines/packs/engine_packs.ts";
import { MemberPacks } from "../../src/engines/packs/member_packs.ts";
import { archiveFile } from "../../src/engines/packs/packs_folder.ts";
import { PackArchives } from "../../src/engines/packs/pack_archives.ts";
import type {
  EnginePack,
  PackPackage,
} from "../../src/engines/packs/pack_table.ts";
import type { Clock, Files } from "../../src/platform/mod.ts";

/** Where a test's packs lie. */
const PACKS_FOLDER = "/data/packs";
/** A machine that packs are for. */
export const X64 = { os: "linux", arch: "x86_64" };

/** A file of an archive. */
export interface TarEntry {
  readonly name: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

/** What any package holds. */
export const SOUND: readonly TarEntry[] = [
  { name: "package/package.json", body: '{"version":"1"}' },
  { name: "package/bins/linux-x64/libggml-vulkan.v0.4.0.so", body: "code" },
];

/** Pack files the way npm does. */
export async function tarball(
  entries: readonly TarEntry[],
): Promise<Uint8Array<ArrayBuffer>> {
  const tar = await packTar(entries.map(({ body, name }) => {
    const bytes = typeof body === "string"
      ? new TextEncoder().encode(body)
      : body;
    return { header: { name, size: bytes.length }, body: bytes };
  }));
  const zipped = new Blob([Uint8Array.from(tar)]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(zipped).arrayBuffer());
}

/** The package that a build would know by these bytes. */
export function packageOf(
  bytes: Uint8Array,
  name = "@owner/pack",
): PackPackage {
  const digest = createHash("sha512").update(bytes).digest("base64");
  return { name, integrity: `sha512-${digest}`, sizeBytes: bytes.length };
}

/** Where a machine keeps the archive of one. */
export function archivePath({ name }: PackPackage): string {
  return archiveFile(PACKS_FOLDER, name);
}

/** A pack of such packages, called `vulkan`. */
export function packOf(...packages: readonly PackPackage[]): EnginePack {
  return {
    name: "vulkan",
    cards: "cards of this test",
    os: "linux",
    arch: "x86_64",
    packages,
  };
}

/** Packs of a machine as a node has them. */
export function machinePacks(
  pack: EnginePack,
  { clock, files }: { readonly clock: Clock; readonly files: Files },
  allies: () => PackAllies | null = () => null,
  machine = X64,
): {
  readonly packs: EnginePacks;
  readonly shelf: PackShelf;
  readonly care: PackCare;
} {
  const folder = PACKS_FOLDER;
  const packs = new EnginePacks({
    clock,
    files,
    folder,
    ...machine,
    packs: [pack],
  });
  return {
    packs,
    shelf: new PackArchives(files, folder, [pack]),
    care: new MemberPacks(packs, allies),
  };
}
