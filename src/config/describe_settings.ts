import type { Setting } from "./setting.ts";
import { flagOf, SETTING_LIST } from "./setting_names.ts";

const INDENT = " ".repeat(6);

/**
 * Write the part of `covey serve --help` that lists every setting.
 *
 * @returns Lines of at most about 100 characters, without a final line end.
 */
export function describeSettings(): string {
  const now = SETTING_LIST.filter(({ later }) => later === undefined);
  const later = SETTING_LIST.filter(({ later }) => later !== undefined);
  return [
    "Flags win over variables, and these over covey.jsonc in the data folder, whose key",
    "for COVEY_KEEP_ALIVE, for example, is keepAlive.",
    "Secrets have no flag; their …_FILE form names a file that holds them.",
    "",
    ...now.flatMap(describe),
    "",
    "Read and checked, but not part of this build yet:",
    ...later.map((setting) => `  ${setting.variable}`),
  ].join("\n");
}

function describe(setting: Setting<unknown>): string[] {
  const { variable, secret, toggle } = setting;
  const forms = secret
    ? `${variable}, ${variable}_FILE, ${flagOf(setting)}-file PATH`
    : `${variable}, ${flagOf(setting)}${toggle ? "" : " …"}`;
  return [
    `  ${forms}`,
    `${INDENT}${setting.about} (default: ${setting.fallbackText}).`,
    `${INDENT}Give ${setting.accepts}.`,
  ];
}
