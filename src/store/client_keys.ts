import { type Entropy, type Files, ifThere } from "../platform/mod.ts";

/** A key of a client as the node keeps it: everything but the key. */
export interface ClientKey {
  /** What the operator calls it. */
  readonly name: string;
  /** Whether it gives the scope `admin` beside `infer` and `read`. */
  readonly admin: boolean;
  /** When it was made, in milliseconds since 1970. */
  readonly createdAtMs: number;
  /** Opaque tag of its client, drawn anew at every start. */
  readonly tag: string;
}

/** The named keys of a node. They count and stop counting at once. */
export interface ClientKeys {
  /** All keys, in the order in which they were made. */
  list(): readonly ClientKey[];
  /**
   * Find whose key somebody presents. Every hash is compared to its end, so
   * that the time taken tells nothing.
   */
  find(presented: string): Promise<ClientKey | null>;
  /**
   * Make a key.
   *
   * @param name What to call it: 1 to 63 letters, digits, dots, dashes or underscores.
   * @param admin Whether it gives the scope `admin` too.
   * @returns The key itself, which is kept nowhere.
   * @throws {ClientKeysError} When the name can not be had.
   * @throws {FileError} When the file can not be written; then there is no such key.
   */
  add(name: string, admin: boolean): Promise<string>;
  /**
   * Make a key worthless.
   *
   * @returns False when there was none of that name.
   * @throws {FileError} When the file can not be written; then the key counts on.
   */
  revoke(name: string): Promise<boolean>;
}

/** Keys that can not be read, or a name that can not be had. */
export class ClientKeysError extends Error {
  override readonly name = "ClientKeysError";
}

/** What keeping keys needs. */
export interface ClientKeysOptions {
  readonly files: Files;
  readonly entropy: Entropy;
  /** Wall-clock milliseconds since 1970. */
  readonly nowMs: () => number;
  /** The node's data folder, which must exist. */
  readonly dataDir: string;
}

/** Name of the file in the data folder. */
export const CLIENT_KEYS_FILE = "client_keys.json";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const MOST_KEYS = 1024;
const KEY_BYTES = 32;

/** A key with what it is recognised by. */
interface Stored extends ClientKey {
  /** SHA-256 of the key: enough, since no list of guesses holds 256 random bits. */
  readonly hash: Uint8Array<ArrayBuffer>;
}

/**
 * Read the keys of a node; a node that has none has no file.
 *
 * @param options Where they lie.
 * @returns The keys.
 * @throws {ClientKeysError} When the file is torn: without it, nobody could tell which keys were revoked.
 * @throws {FileError} When it can not be read.
 */
export async function loadClientKeys(
  options: ClientKeysOptions,
): Promise<ClientKeys> {
  const { dataDir, entropy, files, nowMs } = options;
  const path = `${dataDir}/${CLIENT_KEYS_FILE}`;
  let stored: readonly Stored[] = await readStored(path, files, entropy);
  let sha256: Sha256 | null = null;
  /** Ends with the last change: each begins with what the one before left. */
  let turn: Promise<unknown> = Promise.resolve();

  function inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const done = turn.then(change);
    // Whoever asked for the change hears why it failed.
    turn = done.catch(() => {});
    return done;
  }

  async function keep(next: readonly Stored[]): Promise<void> {
    const keys = next.map(({ name, admin, createdAtMs, hash }) => ({
      name,
      admin,
      createdAtMs,
      sha256: hash.toHex(),
    }));
    await files.writeAtomic(
      path,
      `${JSON.stringify({ keys }, null, 2)}\n`,
      0o600,
    );
    stored = next;
  }

  return {
    list: () => stored,
    async find(presented) {
      if (stored.length === 0) return null;
      sha256 ??= await loadSha256();
      const given = sha256(presented);
      let found: ClientKey | null = null;
      for (const key of stored) {
        let difference = 0;
        for (let at = 0; at < given.length; at++) {
          difference |= (key.hash[at] ?? 0) ^ (given[at] ?? 0);
        }
        if (difference === 0) found = key;
      }
      return found;
    },
    add: (name, admin) =>
      inTurn(async () => {
        if (!NAME.test(name)) {
          throw new ClientKeysError(
            `A key can not be called "${
              name.slice(0, 80)
            }"; give 1 to 63 letters, digits, dots, dashes or underscores`,
          );
        }
        if (stored.some((key) => key.name === name)) {
          throw new ClientKeysError(
            `There is a key "${name}" already; revoke it first, or give another name`,
          );
        }
        if (stored.length >= MOST_KEYS) {
          throw new ClientKeysError(
            `There are ${MOST_KEYS} keys already; revoke one first`,
          );
        }
        const key = `covey_${
          entropy.bytes(KEY_BYTES).toBase64({
            alphabet: "base64url",
            omitPadding: true,
          })
        }`;
        sha256 ??= await loadSha256();
        const hash = sha256(key);
        await keep([...stored, {
          name,
          admin,
          createdAtMs: nowMs(),
          tag: entropy.uuid(),
          hash,
        }]);
        return key;
      }),
    revoke: (name) =>
      inTurn(async () => {
        const next = stored.filter((key) => key.name !== name);
        if (next.length === stored.length) return false;
        await keep(next);
        return true;
      }),
  };
}

async function readStored(
  path: string,
  files: Files,
  entropy: Entropy,
): Promise<readonly Stored[]> {
  const text = await ifThere(files.readText(path));
  if (text === null) return [];
  // Only who has keys pays for the parser's memory.
  const { z } = await import("zod");
  const schema = z.object({
    keys: z.array(z.object({
      name: z.string().regex(NAME),
      admin: z.boolean(),
      createdAtMs: z.number(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    })).max(MOST_KEYS),
  });
  const read = schema.safeParse(parseJson(text));
  if (!read.success) {
    throw new ClientKeysError(
      `Failed to read the clients' keys: "${path}" is damaged; restore it from a backup, or delete it to revoke every key in it`,
    );
  }
  return read.data.keys.map(({ sha256: hash, ...key }) => ({
    ...key,
    tag: entropy.uuid(),
    hash: Uint8Array.fromHex(hash),
  }));
}

/** Undefined for what is no JSON, as a power cut may leave it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A digest of so little takes a tenth of what handing it to another thread does. */
type Sha256 = (text: string) => Uint8Array<ArrayBuffer>;

/** Only who has keys pays for the library's memory. */
async function loadSha256(): Promise<Sha256> {
  const { hash } = await import("node:crypto");
  return (text) => Uint8Array.fromHex(hash("sha256", text, "hex"));
}
