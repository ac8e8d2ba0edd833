import { escapeUnprintable } from "../domain/mod.ts";

/** Arguments of a simple command. */
export type Arguments =
  | {
    readonly kind: "read";
    readonly words: readonly string[];
    readonly json: boolean;
  }
  | { readonly kind: "wrong"; readonly message: string };

/**
 * Read arguments of a command that takes some words and `--json`.
 *
 * @param args Arguments after the command's name.
 * @param names What each word is called; all are needed.
 */
export function readArguments(
  args: readonly string[],
  names: readonly string[] = [],
): Arguments {
  const words: string[] = [];
  let json = false;
  for (const arg of args) {
    if (arg === "--json") json = true;
    else if (arg.startsWith("-")) {
      const shown = escapeUnprintable(arg.slice(0, 64));
      return { kind: "wrong", message: `There is no flag "${shown}" here` };
    } else words.push(arg);
  }
  const missing = names[words.length];
  if (missing !== undefined) {
    return { kind: "wrong", message: `The ${missing} is missing` };
  }
  const extra = words[names.length];
  if (extra !== undefined) {
    const shown = escapeUnprintable(extra.slice(0, 64));
    return { kind: "wrong", message: `"${shown}" is one word too many` };
  }
  return { kind: "read", words, json };
}
