/** Values of placeholders; null where there is none. */
export type PlaceholderValues = Readonly<Record<string, string | null>>;

const PLACEHOLDER = /\{([a-z]+)\}/g;

/**
 * Fill in a command's placeholders. Each argument stays one argument, whatever
 * a value holds. Pure.
 *
 * @param command Program and arguments.
 * @param values By name; what has no entry stays as it is written.
 * @returns What to start. An argument that is a placeholder without a value is
 * left out, with an option right before it.
 */
export function fillArguments(
  command: readonly string[],
  values: PlaceholderValues,
): readonly string[] {
  const filled: string[] = [];
  for (const argument of command) {
    const alone = /^\{([a-z]+)\}$/.exec(argument)?.[1];
    if (alone !== undefined && values[alone] === null) {
      if (filled.length > 1 && filled.at(-1)?.startsWith("-")) filled.pop();
      continue;
    }
    filled.push(
      argument.replace(
        PLACEHOLDER,
        (whole, name: string) =>
          Object.hasOwn(values, name) ? values[name] ?? "" : whole,
      ),
    );
  }
  return filled;
}
