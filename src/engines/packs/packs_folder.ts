/**
 * Where the packs of a node lie.
 *
 * @param dataDir Its data folder.
 */
export function packsFolder(dataDir: string): string {
  return `${dataDir}/packs`;
}
