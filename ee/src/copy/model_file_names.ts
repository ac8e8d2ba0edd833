import { CopyError } from "./copy_error.ts";

const LONGEST_BYTES = 180;
/** Names that some systems keep for devices. */
const RESERVED = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;

/**
 * Check a model's name before anything on disk is called by it.
 *
 * @param model Name the model is offered under elsewhere: not trusted.
 * @returns The same name.
 * @throws {CopyError} When no file may be called that.
 */
export function checkModelName(model: string): string {
  const problem = new TextEncoder().encode(model).length > LONGEST_BYTES
    ? `it has over ${LONGEST_BYTES} bytes`
    : /[/\\:*?"<>|]|\p{C}/u.test(model)
    ? "it holds a character that names of files can not have"
    : /^[.\s]|[.\s]$/.test(model)
    ? "it begins or ends with a dot or a space"
    : RESERVED.test(model)
    ? "some systems keep that name for a device"
    : null;
  if (problem === null) return model;
  const shown = JSON.stringify(model.slice(0, 80));
  throw new CopyError(
    `A model can not be put on disk as ${shown}: ${problem}; rename it on the member that has it`,
  );
}

/**
 * Names of a model's files, such that the models folder shows it under its name.
 *
 * @param model A checked name.
 * @param count How many files it has.
 */
export function modelFileNames(
  model: string,
  count: number,
): readonly string[] {
  if (count === 1) return [`${model}.gguf`];
  const digits = (value: number) => String(value).padStart(5, "0");
  return Array.from(
    { length: count },
    (_, at) => `${model}-${digits(at + 1)}-of-${digits(count)}.gguf`,
  );
}

/**
 * Names of files that go with a model, for its folder.
 *
 * @param files Their names elsewhere, which are not trusted, and digests.
 */
export function companionFileNames(
  files: readonly { readonly name: string; readonly sha256: string }[],
): readonly string[] {
  const taken = new Set<string>();
  return files.map(({ name, sha256 }) => {
    const isFree = isGgufName(name) && !taken.has(name.toLowerCase());
    const own = isFree ? name : `mmproj-${sha256.slice(0, 16)}.gguf`;
    taken.add(own.toLowerCase());
    return own;
  });
}

function isGgufName(name: string): boolean {
  if (!name.endsWith(".gguf")) return false;
  try {
    checkModelName(name.slice(0, -".gguf".length));
    return true;
  } catch (error) {
    if (error instanceof CopyError) return false;
    throw error;
  }
}
