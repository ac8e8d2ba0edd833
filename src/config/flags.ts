import { escapeUnprintable, nearestName } from "../domain/mod.ts";
import { bad, type Given, type Reading } from "./given.ts";
import { flagOf, FLAGS, SETTING_LIST } from "./setting_names.ts";

const TOGGLE_VALUE = /^(?:0|1|true|false)$/i;

/**
 * Read the flags of `serve`: `--flag value` or `--flag=value`; a toggle alone
 * means 1.
 *
 * @param flags The arguments after the command's name.
 * @returns What they say. Values of flags that do not exist are never quoted:
 * they may be secrets.
 */
export function readFlags(flags: readonly string[]): Reading {
  const given: Given[] = [];
  for (let at = 0; at < flags.length; at++) {
    const argument = flags[at] ?? "";
    if (!argument.startsWith("--")) {
      return bad(
        "--",
        `Argument ${at + 1} of serve is no flag; see \`covey serve --help\``,
      );
    }
    const cut = argument.indexOf("=");
    const name = cut === -1 ? argument : argument.slice(0, cut);
    const meaning = FLAGS.get(name);
    if (meaning === undefined) return unknownFlag(name);
    const place = `${name} (${meaning.setting.variable})`;
    const next = flags[at + 1];
    let text: string;
    if (cut !== -1) text = argument.slice(cut + 1).trim();
    else if (
      meaning.setting.toggle && (next === undefined || !TOGGLE_VALUE.test(next))
    ) text = "1";
    else if (next === undefined || FLAGS.has(next)) text = "";
    else {
      text = next.trim();
      at++;
    }
    if (text === "") {
      const wanted = meaning.form === "path"
        ? "the path of a file"
        : meaning.setting.accepts;
      return bad(
        meaning.setting.variable,
        `${place}: a value is missing; give ${wanted}`,
      );
    }
    given.push({ meaning, text, place });
  }
  return { kind: "read", given, notices: [] };
}

function unknownFlag(name: string): Reading {
  const secret = SETTING_LIST.find((setting) =>
    setting.secret && flagOf(setting) === name
  );
  if (secret !== undefined) {
    return bad(
      secret.variable,
      `${name} is no flag, since lists of processes would show it; set ${secret.variable}, or give ${name}-file PATH`,
    );
  }
  const near = nearestName(name, FLAGS.keys());
  const hint = near === undefined
    ? "see `covey serve --help`"
    : `did you mean ${near}?`;
  return bad(
    name,
    `${escapeUnprintable(name.slice(0, 80))} is no flag of serve; ${hint}`,
  );
}
