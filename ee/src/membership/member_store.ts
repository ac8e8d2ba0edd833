import { createHash } from "node:crypto";
import type { Log } from "@covey/core/domain";
import { FileError, type Files, ifThere } from "@covey/core/platform";
import { z } from "zod";
import { type KeyHash, parseKeyHash } from "../identity/key_hash.ts";
import type { LinkAddress } from "../link/link_address.ts";
import { OPEN_DOOR } from "./door.ts";
import type { SavedDoor } from "./door_keeper.ts";
import { parseDoor } from "./door_wire.ts";
import { type MemberRow, parseMemberRow } from "./member_row.ts";
import { MOST_ROWS } from "./member_table.ts";

/** What is kept of a cluster over a restart. */
export interface SavedMembers extends SavedDoor {
  readonly rows: readonly MemberRow[];
  /** Where each member was last met. */
  readonly addresses: ReadonlyMap<KeyHash, readonly LinkAddress[]>;
}

/** What keeping it needs. */
export interface MemberStoreOptions {
  readonly files: Files;
  readonly log: Log;
  readonly stateDir: string;
  readonly clusterId: string;
  /** The cluster's id before its secret was rotated: its table is carried over. */
  readonly previousClusterId: string | null;
}

const NOTHING: SavedMembers = {
  rows: [],
  addresses: new Map(),
  door: OPEN_DOOR,
  rotation: 0,
};

const fileSchema = z.object({
  v: z.literal(1),
  rows: z.array(z.unknown()).max(MOST_ROWS),
  addresses: z.record(
    z.string(),
    z.array(
      z.object({
        host: z.string().min(1).max(255),
        port: z.number().int().min(1).max(65535),
      }),
    ).max(16),
  ),
  door: z.unknown().optional().transform(parseDoor),
  rotation: z.number().int().min(0).catch(0),
});

/** The file of one cluster's members. One writer; writes follow each other. */
export class MemberStore implements AsyncDisposable {
  readonly #options: MemberStoreOptions;
  readonly #path: string;
  #next: SavedMembers | null = null;
  #writing: Promise<void> | null = null;

  constructor(options: MemberStoreOptions) {
    this.#options = options;
    this.#path = pathOf(options.stateDir, options.clusterId);
  }

  /**
   * Read what was kept. A damaged file is set aside and said so: rows come
   * back by admission, and this node's own identity is not in it.
   */
  async load(): Promise<SavedMembers> {
    const { log, previousClusterId, stateDir } = this.#options;
    await this.#tellOthers();
    const saved = await this.#read(this.#path);
    if (saved !== undefined) return saved;
    if (previousClusterId === null) return NOTHING;
    const before = await this.#read(pathOf(stateDir, previousClusterId));
    if (before === undefined) return NOTHING;
    log.info("The secret was rotated; the member table is carried over", {
      rows: before.rows.length,
    });
    return { ...before, rotation: before.rotation + 1 };
  }

  /** Keep this. Returns at once; the newest state is written. */
  save(members: SavedMembers): void {
    this.#next = members;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
  }

  /** Forget it all, as after leaving: the file goes too. */
  async forget(): Promise<void> {
    await this.#writing;
    await this.#options.files.remove(this.#path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { files, log, stateDir } = this.#options;
    for (;;) {
      const members = this.#next;
      if (members === null) return;
      this.#next = null;
      const text = JSON.stringify({
        v: 1,
        rows: members.rows,
        addresses: Object.fromEntries(members.addresses),
        door: members.door,
        rotation: members.rotation,
      });
      try {
        await files.makeFolder(stateDir, 0o700);
        await files.writeAtomic(this.#path, `${text}\n`, 0o600);
      } catch (error) {
        log.error("The member table could not be saved; it is kept in memory", {
          error: error instanceof Error ? error.message : String(error),
        });
      }
    }
  }

  async #read(path: string): Promise<SavedMembers | undefined> {
    const { files, log } = this.#options;
    const text = await ifThere(files.readText(path));
    if (text === null) return undefined;
    const saved = parseFile(text);
    if (saved !== undefined) return saved;
    const aside = `${path}.corrupt`;
    await files.rename(path, aside);
    log.warn(
      "The member table is damaged and was set aside; members come back as they are met",
      { aside },
    );
    return undefined;
  }

  /** Another secret's table stays as it is: none of it is dialled. */
  async #tellOthers(): Promise<void> {
    const { files, log, previousClusterId, stateDir } = this.#options;
    const own = new Set([this.#path]);
    if (previousClusterId !== null) {
      own.add(pathOf(stateDir, previousClusterId));
    }
    try {
      const others = (await files.list(stateDir)).filter(({ name }) =>
        /^members-[0-9a-f]+\.json$/.test(name) &&
        !own.has(`${stateDir}/${name}`)
      );
      if (others.length === 0) return;
      log.info(
        "Tables of other clusters are set aside and not used: this node has left those clusters, since its secret is another one",
        {
          files: others.map(({ name }) => name).join(" "),
        },
      );
    } catch (error) {
      if (error instanceof FileError && error.problem === "missing") return;
      throw error;
    }
  }
}

/** The name says nothing of the cluster's id to who lists the folder. */
function pathOf(stateDir: string, clusterId: string): string {
  const name = createHash("sha256").update(clusterId).digest("hex");
  return `${stateDir}/members-${name.slice(0, 16)}.json`;
}

function parseFile(text: string): SavedMembers | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Torn or garbled; the caller says so.
    return undefined;
  }
  const parsed = fileSchema.safeParse(json).data;
  if (parsed === undefined) return undefined;
  const rows = parsed.rows.map(parseMemberRow);
  if (rows.includes(undefined)) return undefined;
  const addresses = new Map<KeyHash, readonly LinkAddress[]>();
  for (const [key, list] of Object.entries(parsed.addresses)) {
    const keyHash = parseKeyHash(key);
    if (keyHash !== undefined) addresses.set(keyHash, list);
  }
  const { door, rotation } = parsed;
  return {
    rows: rows.filter((row) => row !== undefined),
    addresses,
    door,
    rotation,
  };
}
