/** Arguments of a command with flags of its own. */
export type Given =
  | {
    readonly kind: "given";
    readonly words: readonly string[];
    readonly json: boolean;
    /** Switches that were set, without their hyphens. */
    readonly switches: ReadonlySet<string>;
    /** Values of flags that take one, without their hyphens. */
    readonly values: ReadonlyMap<string, string>;
  }
  | { readonly kind: "wrong"; readonly message: string };

/**
 * Read words and flags, in both spellings of a value (`--ttl 5m`, `--ttl=5m`).
 * A lone hyphen is a word. Of what was given nothing but the name of a flag is
 * quoted back: it may be a token.
 *
 * @param args Arguments after the command's name.
 * @param known Flags of the command; `json` is always one.
 */
export function readFlags(
  args: readonly string[],
  known: {
    readonly switches?: readonly string[];
    readonly values?: readonly string[];
  },
): Given {
  const words: string[] = [];
  const switches = new Set<string>();
  const values = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (!arg.startsWith("--")) {
      if (arg.startsWith("-") && arg !== "-") {
        return { kind: "wrong", message: "Flags begin with two hyphens" };
      }
      words.push(arg);
      continue;
    }
    const [name = "", ...rest] = arg.slice(2).split("=");
    if (name === "json" || known.switches?.includes(name)) {
      if (rest.length > 0) {
        return { kind: "wrong", message: `--${name} takes no value` };
      }
      switches.add(name);
    } else if (known.values?.includes(name)) {
      const value = rest.length > 0 ? rest.join("=") : args[++at];
      if (value === undefined || value === "") {
        return { kind: "wrong", message: `--${name} needs a value` };
      }
      values.set(name, value);
    } else {
      const shown = /^[a-z-]{1,32}$/.test(name)
        ? `flag "--${name}"`
        : "such flag";
      return { kind: "wrong", message: `There is no ${shown} here` };
    }
  }
  return {
    kind: "given",
    words,
    json: switches.has("json"),
    switches,
    values,
  };
}
