import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { PACK_VERSION } from "./pack_table.ts";

const OWNER = "@node-llama-cpp/";

/**
 * Have imports of llama.cpp's own GPU packages find those that were added to
 * this machine: the program brings none, and inside a compiled file there is no
 * folder to put one. To be called before node-llama-cpp is imported.
 *
 * @param folder Where packs lie.
 */
export function resolvePacks(folder: string): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.startsWith(OWNER)) return next(specifier, context);
      const entry = join(folder, PACK_VERSION, specifier, "dist/index.js");
      if (!existsSync(entry)) return next(specifier, context);
      return { url: pathToFileURL(entry).href, shortCircuit: true };
    },
  });
}
