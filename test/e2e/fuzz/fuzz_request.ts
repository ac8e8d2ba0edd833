import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/domain/mod.ts";
import type { Entropy } from "../../../src/platform/mod.ts";
import { REAL_BODIES } from "./real_bodies.ts";
import { below, pick, valueOf } from "./schema_value.ts";
import { spoilBody, spoilText } from "./spoil_body.ts";

/** One request to send. */
export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  /** Whether it says itself where it may run, so that nobody may be there to serve it. */
  readonly isPinned: boolean;
  /** Whether the client leaves before the answer is whole. */
  readonly leaves: boolean;
}

/**
 * Write a request down in full, so that whoever reads of its failure can send
 * it again.
 *
 * @param request The request.
 * @returns JSON; a body that is no text stands in it as base64.
 */
export function describeRequest({ body, ...rest }: FuzzRequest): string {
  return JSON.stringify({
    ...rest,
    ...(body instanceof Uint8Array ? { base64: body.toBase64() } : { body }),
  });
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly schema: JsonValue | undefined;
}

const SOURCES = [
  "local",
  "cluster",
  "node:nobody",
  "node:",
  "moon",
  "node:solo",
];
const PREFIXES = [
  "/cluster",
  "/node/solo",
  "/node/nobody",
  "/node/%2e%2e",
  "//",
];
const CONTENT_TYPES = [
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/json; charset=utf-16",
  "multipart/form-data; boundary=x",
  "x",
];
const ENCODINGS = ["gzip", "br", "zstd", "identity", "gzip, gzip", "lz4"];
const METHODS = ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"];

/** Makes requests from an OpenAPI document and from bodies that real clients send. */
export class RequestGrammar {
  readonly #operations: readonly Operation[];
  readonly #entropy: Entropy;
  readonly #models: readonly string[];

  /**
   * @param document The document that a node shows.
   * @param models Names of models that answer.
   * @param entropy Where chance comes from.
   */
  constructor(
    document: JsonObject,
    models: readonly string[],
    entropy: Entropy,
  ) {
    this.#operations = operationsOf(document);
    this.#models = models;
    this.#entropy = entropy;
  }

  /** The next request. */
  next(): FuzzRequest {
    const entropy = this.#entropy;
    const isReal = below(entropy, 5) < 2;
    const { body, ...where } = isReal ? this.#real() : this.#described();
    const isPinned = below(entropy, 12) === 0;
    const headers: Record<string, string> = {
      "content-type": below(entropy, 25) === 0
        ? pick(entropy, CONTENT_TYPES) ?? ""
        : "application/json",
    };
    if (isPinned) headers["x-covey-source"] = pick(entropy, SOURCES) ?? "";
    if (below(entropy, 60) === 0) {
      headers["content-encoding"] = pick(entropy, ENCODINGS) ?? "";
    }
    if (below(entropy, 30) === 0) headers["anthropic-version"] = "2023-06-01";
    const hasPrefix = below(entropy, 20) === 0;
    const method = below(entropy, 40) === 0
      ? pick(entropy, METHODS) ?? "GET"
      : where.method;
    const hasBody = method !== "GET" && method !== "HEAD" && body !== undefined;
    return {
      method,
      path: (hasPrefix ? pick(entropy, PREFIXES) ?? "" : "") + where.path,
      headers,
      body: hasBody ? this.#written(body) : null,
      isPinned: isPinned || hasPrefix ||
        (isJsonObject(body) && body.source !== undefined),
      leaves: below(entropy, 20) === 0,
    };
  }

  #written(body: JsonValue): string | Uint8Array<ArrayBuffer> {
    const text = JSON.stringify(body);
    return below(this.#entropy, 12) === 0
      ? spoilText(text, this.#entropy)
      : text;
  }

  #real() {
    const path = pick(this.#entropy, Object.keys(REAL_BODIES)) ?? "";
    const real = pick(this.#entropy, REAL_BODIES[path] ?? []) ?? {};
    const model = pick(this.#entropy, this.#models) ?? "";
    return {
      method: "POST",
      path,
      body: spoilBody({ model, ...real }, this.#entropy),
    };
  }

  #described() {
    const entropy = this.#entropy;
    const operation = pick(entropy, this.#operations);
    if (operation === undefined) throw new Error("The document has no paths");
    const { method, path, schema } = operation;
    const known = {
      model: this.#models,
      max_tokens: [1, 4],
      max_completion_tokens: [2],
      max_output_tokens: [16],
      messages: [[{ role: "user", content: "hello" }]],
    };
    return {
      method,
      path: path.replaceAll(/\{[^}]*\}/g, () => this.#parameter()),
      body: schema === undefined
        ? undefined
        : valueOf(schema, { entropy, known }),
    };
  }

  #parameter(): string {
    const value = valueOf({ type: "string" }, {
      entropy: this.#entropy,
      known: {},
    });
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return encodeURIComponent(text.toWellFormed()) || "x";
  }
}

function operationsOf(document: JsonObject): readonly Operation[] {
  const found: Operation[] = [];
  const paths = isJsonObject(document.paths) ? document.paths : {};
  for (const [path, item] of Object.entries(paths)) {
    if (!isJsonObject(item)) continue;
    for (const [method, operation] of Object.entries(item)) {
      if (!isJsonObject(operation)) continue;
      const schema = bodySchema(operation.requestBody);
      found.push({ method: method.toUpperCase(), path, schema });
    }
  }
  return found;
}

function bodySchema(body: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(body) || !isJsonObject(body.content)) return undefined;
  const [content] = Object.values(body.content);
  return isJsonObject(content) ? content.schema : undefined;
}
