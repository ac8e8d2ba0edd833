import { CONFIG_FILE_NAME } from "./config_file.ts";
import { readEnvironment } from "./environment.ts";
import { readFlags } from "./flags.ts";
import { resolvePath } from "./folder_path.ts";
import { bad, type BadConfig } from "./given.ts";
import { choose, readSetting } from "./precedence.ts";
import { SETTINGS } from "./settings.ts";

/** What the process edge knows about this machine. */
export interface MachineFacts {
  readonly hostname: string;
  /** See `findPlatformDataDir`; null where no home folder is known. */
  readonly platformDataDir: string | null;
  /** Working folder, for relative paths. */
  readonly cwd: string;
}

/** Where the node's folder and covey.jsonc are. */
export type ConfigLocation =
  | {
    readonly kind: "found";
    readonly dataDir: string;
    /** Path of covey.jsonc; the file need not exist. */
    readonly filePath: string;
  }
  | BadConfig;

/**
 * Find the data folder, which decides where covey.jsonc is read from.
 *
 * @param env The environment.
 * @param flags Arguments of `serve`.
 * @param facts About the machine.
 */
export function locateConfig(
  { env, flags, facts }: {
    readonly env: Readonly<Record<string, string>>;
    readonly flags: readonly string[];
    readonly facts: MachineFacts;
  },
): ConfigLocation {
  const said = readFlags(flags);
  if (said.kind === "bad") return said;
  const choice = choose([said.given, readEnvironment(env).given]);
  if (choice.kind === "bad") return choice;
  const given = readSetting(choice.chosen, SETTINGS.dataDir);
  if (given.kind === "bad") return given;
  const path = given.value ?? facts.platformDataDir;
  if (path === null) {
    return bad(
      "COVEY_DATA_DIR",
      "COVEY_DATA_DIR: not set, and no home folder is known; give the path of a folder",
    );
  }
  const dataDir = resolvePath(path, facts.cwd, env["HOME"]);
  return {
    kind: "found",
    dataDir,
    filePath: resolvePath(CONFIG_FILE_NAME, dataDir, undefined),
  };
}
