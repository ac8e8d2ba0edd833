import {
  escapeUnprintable,
  type JsonObject,
  type JsonValue,
  LOCK_FILE,
} from "../domain/mod.ts";
import { FileError, type Files } from "../platform/mod.ts";
import type { ClientKeys } from "../store/client_keys.ts";
import { sayFailure, sayUsage, UNKNOWN_FORM } from "./ask.ts";
import {
  type ApiReply,
  type CliContext,
  type Command,
  DONE,
  FAILED,
} from "./command.ts";
import { readFlags } from "./flags.ts";
import { formatTable } from "./table.ts";

const USAGE = "key add NAME [--admin] | list | revoke NAME [--json]";

/** What is to be done with the keys. */
type Order =
  | { readonly kind: "add"; readonly name: string; readonly admin: boolean }
  | { readonly kind: "list" }
  | { readonly kind: "revoke"; readonly name: string };

/** Opens the keys of a data folder whose node does not run. */
export type OpenKeys = (files: Files, dataDir: string) => Promise<ClientKeys>;

/**
 * Make the command that gives clients their keys and takes them back: by the
 * running node, or in its data folder while it does not run.
 *
 * @param openKeys Opens the keys of a data folder.
 * @returns The command.
 */
export function keyCommand(openKeys: OpenKeys): Command {
  return {
    name: "key",
    summary: "Make, list and revoke keys of clients",
    usage: USAGE.slice("key ".length),
    help: () =>
      "A key gives what COVEY_API_KEYS give: inference and looking. With --admin it\ngives everything. It is shown once and kept nowhere; revoking it counts at once.",
    async run(args, context) {
      const given = readFlags(args, { switches: ["admin"] });
      if (given.kind === "wrong") {
        return sayUsage(given.message, USAGE, context);
      }
      const order = orderOf(given.words, given.switches.has("admin"));
      if (typeof order === "string") return sayUsage(order, USAGE, context);
      let reply = await askRunning(order, context);
      if (reply.kind === "unreachable") {
        reply = await doAlone(order, context, openKeys) ?? reply;
      }
      if (reply.kind !== "answered") return sayFailure(reply, context);
      const text = given.json
        ? JSON.stringify(reply.body)
        : textOf(order, reply.body);
      if (text === null) {
        context.stderr(UNKNOWN_FORM);
        return FAILED;
      }
      context.stdout(text);
      return DONE;
    },
  };
}

/** What is asked for, or what is wrong with it. */
function orderOf(
  [verb, name, ...more]: readonly string[],
  admin: boolean,
): Order | string {
  if (verb !== "add" && verb !== "list" && verb !== "revoke") {
    return "Say add, list or revoke";
  }
  if (admin && verb !== "add") return "--admin goes with add alone";
  if (verb === "list") {
    return name === undefined ? { kind: "list" } : "list takes no name";
  }
  if (name === undefined) return "The name is missing";
  if (more.length > 0) return "Give one name";
  return verb === "add"
    ? { kind: "add", name, admin }
    : { kind: "revoke", name };
}

function askRunning(order: Order, context: CliContext): Promise<ApiReply> {
  switch (order.kind) {
    case "add": {
      const { name, admin } = order;
      return context.postJson("POST", "/covey/keys", { name, admin });
    }
    case "list":
      return context.fetchJson("/covey/keys");
    case "revoke": {
      const path = `/covey/keys/${encodeURIComponent(order.name)}`;
      return context.postJson("DELETE", path, {});
    }
    default: {
      const never: never = order;
      return never;
    }
  }
}

/** Null where a node holds the folder after all: only it may write there. */
async function doAlone(
  order: Order,
  context: CliContext,
  openKeys: OpenKeys,
): Promise<ApiReply | null> {
  const folder = await context.dataFolder();
  if (folder.kind === "bad") return refusal(folder.line);
  const { files, path } = folder;
  try {
    if (order.kind === "add") await files.makeFolder(path, 0o700);
    using lock = await files.lock(`${path}/${LOCK_FILE}`);
    if (lock === null) return null;
    const keys = await openKeys(files, path);
    return await carryOut(order, keys);
  } catch (error) {
    const known = error instanceof FileError ||
      (error instanceof Error && error.name === "ClientKeysError");
    if (known) return refusal(error.message);
    throw error;
  }
}

async function carryOut(order: Order, keys: ClientKeys): Promise<ApiReply> {
  switch (order.kind) {
    case "add": {
      const { name, admin } = order;
      return answer({ name, admin, key: await keys.add(name, admin) });
    }
    case "list":
      return answer({
        keys: keys.list().map(({ name, admin, createdAtMs }) => ({
          name,
          admin,
          createdAtMs,
        })),
      });
    case "revoke":
      return await keys.revoke(order.name)
        ? answer({ revoked: order.name })
        : refusal(`There is no key "${order.name.slice(0, 80)}"`);
    default: {
      const never: never = order;
      return never;
    }
  }
}

function answer(body: JsonObject): ApiReply {
  return { kind: "answered", body };
}

function refusal(message: string): ApiReply {
  return { kind: "refused", status: 0, message, body: undefined };
}

/** The answer as text, or null where its form is unknown. */
function textOf(order: Order, body: JsonValue): string | null {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return null;
  }
  const fields = body as JsonObject;
  switch (order.kind) {
    case "add":
      return typeof fields["key"] === "string" ? fields["key"] : null;
    case "revoke":
      return `The key "${escapeUnprintable(order.name)}" is revoked`;
    case "list":
      return Array.isArray(fields["keys"]) ? tableOf(fields["keys"]) : null;
    default: {
      const never: never = order;
      return never;
    }
  }
}

function tableOf(keys: readonly JsonValue[]): string | null {
  const rows: string[][] = [];
  for (const key of keys) {
    if (typeof key !== "object" || key === null || Array.isArray(key)) {
      return null;
    }
    const { name, admin, createdAtMs } = key as JsonObject;
    if (typeof name !== "string" || typeof createdAtMs !== "number") {
      return null;
    }
    rows.push([
      escapeUnprintable(name),
      admin === true ? "admin" : "infer, read",
      dayOf(createdAtMs),
    ]);
  }
  if (rows.length === 0) {
    return "There are no keys; `covey key add NAME` makes one";
  }
  return formatTable([["NAME", "SCOPES", "MADE"], ...rows]);
}

/** The day of a time in milliseconds since 1970, as far as there is one. */
function dayOf(ms: number): string {
  const isDate = Math.abs(ms) <= 8.64e15;
  return isDate ? new Date(ms).toISOString().slice(0, 10) : "unknown";
}
