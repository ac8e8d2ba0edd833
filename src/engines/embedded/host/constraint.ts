import type { JsonObject } from "../../../domain/mod.ts";
import type { CallForm } from "./call_form.ts";
import type { Tool } from "./chat_message.ts";
import { literal } from "./gbnf.ts";
import { JsonGrammar } from "./json_grammar.ts";

/** What holds the model's answer to a form. */
export type Constraint =
  | { readonly kind: "none" }
  /** A grammar from the first token on. */
  | { readonly kind: "grammar"; readonly text: string }
  /** A grammar from the moment the model itself begins a call. */
  | {
    readonly kind: "lazy";
    readonly marker: string;
    readonly anchored: boolean;
    /**
     * The grammar for what follows the marker.
     *
     * @param written What the model wrote behind the marker already.
     * @returns GBNF, or null when that fits no call.
     */
    grammarAfter(written: string): string | null;
  };

/** What an answer must be. */
export type AnswerFormat =
  | { readonly kind: "text" }
  | {
    readonly kind: "json";
    readonly schema: JsonObject | null;
    readonly param: string;
  }
  | { readonly kind: "gbnf"; readonly text: string };

/** Which tools may, or must, be called. */
export interface ToolRule {
  readonly tools: readonly Tool[];
  readonly mustCall: boolean;
  /** Whether several calls may be made in one answer. */
  readonly parallel: boolean;
  readonly form: CallForm;
}

const MAX_CALLS = 16;

/**
 * Turn the wanted format and the tools into one constraint.
 *
 * @param format What an answer that is no call must be.
 * @param rule Tools, or null for none.
 * @returns The constraint.
 * @throws {RequestError} When a schema can not be expressed.
 */
export function buildConstraint(
  format: AnswerFormat,
  rule: ToolRule | null,
): Constraint {
  if (rule === null) return formatConstraint(format);
  const grammar = new JsonGrammar();
  const calls = callsExpression(grammar, rule);
  const whole = `${literal(rule.form.open)} ${calls}`;
  if (rule.mustCall) return { kind: "grammar", text: grammar.text(whole) };
  if (format.kind === "json") {
    const answer = grammar.addSchema(
      format.schema ?? { type: "object" },
      format.param,
    );
    return { kind: "grammar", text: grammar.text(`${whole} | ${answer}`) };
  }
  if (format.kind === "gbnf") return { kind: "grammar", text: format.text };
  const { marker, open, anchored } = rule.form;
  const rest = open.slice(marker.length);
  return {
    kind: "lazy",
    marker,
    anchored,
    grammarAfter(written) {
      if (!rest.startsWith(written)) return null;
      const missing = rest.slice(written.length);
      return grammar.text(
        missing === "" ? calls : `${literal(missing)} ${calls}`,
      );
    },
  };
}

function formatConstraint(format: AnswerFormat): Constraint {
  switch (format.kind) {
    case "text":
      return { kind: "none" };
    case "gbnf":
      return { kind: "grammar", text: format.text };
    case "json": {
      const grammar = new JsonGrammar();
      const root = format.schema === null
        ? grammar.anyObject
        : grammar.addSchema(format.schema, format.param);
      return { kind: "grammar", text: grammar.text(root) };
    }
    default: {
      const never: never = format;
      return never;
    }
  }
}

/** Everything behind the opening of the first call. */
function callsExpression(grammar: JsonGrammar, rule: ToolRule): string {
  const { middle, between, close } = rule.form;
  const alternatives = rule.tools.map((tool) => {
    const schema = tool.parameters === null
      ? grammar.anyObject
      : grammar.addSchema(
        { type: "object", ...tool.parameters },
        `tools.${tool.name}.parameters`,
        // Tools of coding programs have keywords that no grammar knows.
        tool.isStrict ? "binding" : "guiding",
      );
    return `${literal(tool.name + middle)} ${schema}`;
  });
  const one = `(${alternatives.join(" | ")})`;
  const further = rule.parallel
    ? ` (${literal(between)} ${one}){0,${MAX_CALLS - 1}}`
    : "";
  return `${one}${further} ${literal(close)}`;
}
