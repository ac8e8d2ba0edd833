import { PACK_VERSION } from "./pack_table.ts";

/**
 * Where the packs of a node lie.
 *
 * @param dataDir Its data folder.
 */
export function packsFolder(dataDir: string): string {
  return `${dataDir}/packs`;
}

/**
 * Where a package of this release lies unpacked.
 *
 * @param folder Where packs lie.
 * @param packageName The package.
 */
export function packageFolder(folder: string, packageName: string): string {
  return `${folder}/${PACK_VERSION}/${packageName}`;
}

/**
 * Where the archive of such a package is kept for members, beside it.
 *
 * @param folder Where packs lie.
 * @param packageName The package.
 */
export function archiveFile(folder: string, packageName: string): string {
  return `${packageFolder(folder, packageName)}.tgz`;
}
