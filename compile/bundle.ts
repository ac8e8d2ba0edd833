/**
 * Packages that stay packages: one brings libraries and loads them by its own
 * paths, the other runs programs by its own. All else is bundled.
 */
export const KEPT_PACKAGES: readonly string[] = [
  "node-llama-cpp",
  "systeminformation",
];

/**
 * Arguments of the runtime that bundle a program: as few modules as there are
 * parts that are loaded on first use.
 *
 * @param entry Its first module.
 * @param folder Where the bundles go.
 */
export function bundleArguments(entry: string, folder: string): string[] {
  return [
    "bundle",
    "--quiet",
    "--platform",
    "deno",
    "--code-splitting",
    ...KEPT_PACKAGES.flatMap((name) => ["--external", name]),
    "--outdir",
    folder,
    entry,
  ];
}
