import { escapeUnprintable, nearestName } from "../domain/mod.ts";
import type { Given, Reading } from "./given.ts";
import { VARIABLES } from "./setting_names.ts";

const PREFIX = "COVEY_";

/**
 * Pick this program's settings out of an environment. A variable that is set
 * to nothing counts as unset, as compose files and unit files write it.
 *
 * @param env The environment.
 * @returns What it says; a misspelt COVEY_ name becomes a notice.
 */
export function readEnvironment(
  env: Readonly<Record<string, string>>,
): Extract<Reading, { kind: "read" }> {
  const given: Given[] = [];
  const notices: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    const meaning = VARIABLES.get(name);
    const text = value.trim();
    if (meaning !== undefined) {
      if (text !== "") given.push({ meaning, text, place: name });
    } else if (/^COVEY_/i.test(name)) {
      const near = meantBy(name.toUpperCase());
      const hint = near === undefined ? "" : `; did you mean ${near}?`;
      notices.push(
        `${
          escapeUnprintable(name.slice(0, 80))
        } is no variable of Covey and has no effect${hint}`,
      );
    }
  }
  return { kind: "read", given, notices };
}

/**
 * What somebody probably meant: a name without the prefix, the one whose last
 * words these are, or else the nearest. The prefix, which all have, makes
 * nothing near.
 */
function meantBy(name: string): string | undefined {
  const rest = name.slice(PREFIX.length);
  if (VARIABLES.has(rest)) return rest;
  const own = [...VARIABLES.keys()].filter((one) => one.startsWith(PREFIX));
  const [ending, ...others] = own.filter((one) => one.endsWith(`_${rest}`));
  if (ending !== undefined && others.length === 0) return ending;
  const near = nearestName(rest, own.map((one) => one.slice(PREFIX.length)));
  return near === undefined ? undefined : `${PREFIX}${near}`;
}
