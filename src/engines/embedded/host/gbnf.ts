import { integerExpression, numberExpression } from "./number_grammar.ts";

const STRING = `"\\"" jchar* "\\""`;
/** Rules for any JSON value, which the rules of schemas stand on: name and body. */
export const JSON_RULES: readonly (readonly [string, string])[] = [
  ["jws", `[ ]?`],
  [
    "jchar",
    `[^"\\\\\\x00-\\x1F\\x7F] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4})`,
  ],
  ["jstring", STRING],
  ["jinteger", integerExpression({ min: null, max: null }) ?? ""],
  ["jnumber", numberExpression({ min: null, max: null }) ?? ""],
  ["jmember", `jstring ":" jws jvalue`],
  ["jobject", `"{" (jmember ("," jws jmember)*)? "}"`],
  ["jarray", `"[" (jvalue ("," jws jvalue)*)? "]"`],
  [
    "jvalue",
    `jobject | jarray | jstring | jnumber | "true" | "false" | "null"`,
  ],
];

/**
 * Quote text for GBNF.
 *
 * @param text What the model must write.
 * @returns A GBNF literal.
 */
export function literal(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t");
  return `"${escaped}"`;
}
