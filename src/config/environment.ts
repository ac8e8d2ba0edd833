import { escapeUnprintable, nearestName } from "../domain/mod.ts";
import type { Given, Reading } from "./given.ts";
import { VARIABLES } from "./setting_names.ts";

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
      const near = nearestName(name, VARIABLES.keys());
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
