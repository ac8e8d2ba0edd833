import type { Node, ParseError } from "jsonc-parser";
import { type ModelSet, nearestName } from "../domain/mod.ts";
import { parseEngineList } from "./engine_list.ts";
import { bad, type BadConfig, type Given, quote } from "./given.ts";
import { parseModelCapabilities } from "./model_capabilities.ts";
import { parseModelSets } from "./model_sets.ts";
import type { EngineConfig, ModelCapabilities } from "./node_config.ts";
import { parseRateLimit } from "./rate_limit.ts";
import { FILE_KEYS, type NameMeaning } from "./setting_names.ts";

/** Name of the file in the data folder. */
export const CONFIG_FILE_NAME = "covey.jsonc";

const LONGEST = 1_048_576;
const OWN_KEYS = ["engines", "models", "capabilities", "rateLimit"];

/** What covey.jsonc said. */
export type FileReading =
  | {
    readonly kind: "read";
    readonly given: readonly Given[];
    readonly notices: readonly string[];
    readonly engines: readonly EngineConfig[];
    readonly modelSets: readonly ModelSet[];
    readonly modelCapabilities: readonly ModelCapabilities[];
    readonly rateLimit: { readonly requestsPerMinute: number } | null;
  }
  | BadConfig;

/**
 * Read covey.jsonc: JSON with comments and trailing commas, one object whose
 * keys are those of the settings, `engines`, `models`, `capabilities` and
 * `rateLimit`.
 *
 * @param text The file's text.
 * @returns What it says, or the first thing wrong with it.
 */
export async function readConfigFile(text: string): Promise<FileReading> {
  if (text.length > LONGEST) {
    return badFile("is larger than 1 MiB");
  }
  // Only who has a file pays for the parser's memory (4 to 13 MB).
  const jsonc = await import("jsonc-parser");
  const source = text.replace(/^\ufeff/, "");
  const errors: ParseError[] = [];
  let tree: Node | undefined;
  try {
    tree = jsonc.parseTree(source, errors, {
      allowTrailingComma: true,
      allowEmptyContent: true,
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return badFile("is nested too deeply");
  }
  const [first] = errors;
  if (first !== undefined) {
    const problem = wordsOf(jsonc.printParseErrorCode(first.error));
    return badFile(`${placeOf(source, first.offset)}: ${problem}`);
  }
  if (tree === undefined) {
    return {
      kind: "read",
      given: [],
      notices: [],
      engines: [],
      modelSets: [],
      modelCapabilities: [],
      rateLimit: null,
    };
  }
  if (tree.type !== "object") {
    return badFile('must hold one object, such as {"port": 11411}');
  }
  const twice = findRepeatedKey(tree);
  if (twice !== undefined) {
    return badFile(
      `${placeOf(source, twice.offset)}: ${
        quote(String(twice.value))
      } stands there twice; keep one`,
    );
  }
  const given: Given[] = [];
  const notices: string[] = [];
  let engines: readonly EngineConfig[] = [];
  let modelSets: readonly ModelSet[] = [];
  let modelCapabilities: readonly ModelCapabilities[] = [];
  let rateLimit: { readonly requestsPerMinute: number } | null = null;
  for (const { children } of tree.children ?? []) {
    const [keyNode, valueNode] = children ?? [];
    if (keyNode === undefined || valueNode === undefined) continue;
    const key = String(keyNode.value);
    const meaning = FILE_KEYS.get(key);
    if (key === "engines") {
      const list = await parseEngineList(jsonc.getNodeValue(valueNode));
      if (list.kind === "bad") return list;
      engines = list.engines;
    } else if (key === "models") {
      const read = parseModelSets(jsonc.getNodeValue(valueNode));
      if (read.kind === "bad") return read;
      modelSets = read.sets;
    } else if (key === "capabilities") {
      const read = parseModelCapabilities(jsonc.getNodeValue(valueNode));
      if (read.kind === "bad") return read;
      modelCapabilities = read.rules;
    } else if (key === "rateLimit") {
      const read = parseRateLimit(jsonc.getNodeValue(valueNode));
      if (read.kind === "bad") return read;
      rateLimit = read.rateLimit;
    } else if (meaning === undefined) {
      notices.push(unknownKey(key));
    } else {
      const reading = readEntry(key, meaning, valueNode);
      if (reading !== null && "kind" in reading) return reading;
      if (reading !== null) given.push(reading);
    }
  }
  return {
    kind: "read",
    given,
    notices,
    engines,
    modelSets,
    modelCapabilities,
    rateLimit,
  };
}

function readEntry(
  key: string,
  meaning: NameMeaning,
  node: Node,
): Given | BadConfig | null {
  const { variable, accepts, secret } = meaning.setting;
  const place = `"${key}" in ${CONFIG_FILE_NAME} (${variable})`;
  if (variable === "COVEY_DATA_DIR") {
    return bad(
      variable,
      `${place}: the data folder is where ${CONFIG_FILE_NAME} is found; set ${variable} or --data-dir instead`,
    );
  }
  const text = textOf(node);
  if (text === undefined) {
    const wanted = meaning.form === "path" ? "the path of a file" : accepts;
    const what = secret ? "the value" : `this ${node.type}`;
    return bad(variable, `${place}: ${what} is not accepted; give ${wanted}`);
  }
  return text === "" ? null : { meaning, text, place };
}

/** A scalar or a list of texts as the text a variable would hold; null counts as nothing. */
function textOf(node: Node): string | undefined {
  switch (node.type) {
    case "null":
      return "";
    case "string":
    case "boolean":
    case "number":
      return String(node.value).trim();
    case "array": {
      const items = node.children ?? [];
      const plain = items.every((item) =>
        (item.type === "string" || item.type === "number") &&
        !String(item.value).includes(",")
      );
      return plain
        ? items.map((item) => String(item.value)).join(",")
        : undefined;
    }
    default:
      return undefined;
  }
}

function unknownKey(key: string): string {
  // Whoever writes a variable's name there means its key.
  const own = [...FILE_KEYS].find(([, { setting }]) =>
    setting.variable === key
  );
  const near = own?.[0] ??
    nearestName(key, [...FILE_KEYS.keys(), ...OWN_KEYS]);
  const hint = near === undefined ? "" : `; did you mean "${near}"?`;
  return `${
    quote(key)
  } in ${CONFIG_FILE_NAME} is no setting and has no effect${hint}`;
}

function findRepeatedKey(node: Node): Node | undefined {
  const pending = [node];
  for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
    const seen = new Set<string>();
    for (const child of one.children ?? []) {
      pending.push(child);
      const key = one.type === "object" ? child.children?.[0] : undefined;
      if (key === undefined) continue;
      const name = String(key.value);
      if (seen.has(name)) return key;
      seen.add(name);
    }
  }
  return undefined;
}

function badFile(problem: string): BadConfig {
  return bad(CONFIG_FILE_NAME, `${CONFIG_FILE_NAME} ${problem}`);
}

function placeOf(source: string, offset: number): string {
  const before = source.slice(0, offset).split(/\r\n|\r|\n/);
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** `CommaExpected` as "a comma is expected". */
function wordsOf(code: string): string {
  if (code === "InvalidSymbol") {
    return "no JSON begins like this; keys and texts stand in double quotes";
  }
  const words = code.replaceAll(/([A-Z])/g, " $1").trim().toLowerCase();
  const noun = /^(.*) expected$/.exec(words)?.[1];
  if (noun === undefined) return words;
  const article = /^[aeiou]/.test(noun) ? "an" : "a";
  return `${article} ${noun.replace(/^close /, "closing ")} is expected`;
}
