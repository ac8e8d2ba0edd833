import {
  Fault,
  findMembers,
  type PackAllies,
  type PackArchive,
  type PackCare,
  type PackChoice,
  type PackGiver,
} from "../../domain/mod.ts";
import type { EnginePacks } from "./engine_packs.ts";

const REMEDY =
  "Try again, name another member with --from, or remove the pack on that member and add it there anew";

/** Packs of this machine, with the members as where they come from. */
export class MemberPacks implements PackCare {
  readonly #packs: EnginePacks;
  readonly #allies: () => PackAllies | null;

  /**
   * @param packs This machine's.
   * @param allies The other members; null while there are none.
   */
  constructor(packs: EnginePacks, allies: () => PackAllies | null) {
    this.#packs = packs;
    this.#allies = allies;
  }

  async list(signal: AbortSignal): Promise<readonly PackChoice[]> {
    const [views, givers] = await Promise.all([
      this.#packs.list(),
      this.#allies()?.givers(signal) ?? [],
    ]);
    return views.map((view) => ({
      ...view,
      members: view.state === "other_machine"
        ? []
        : givers.filter((one) => gives(one, this.#packs.archivesOf(view.name)))
          .map(({ name }) => name),
    }));
  }

  async add(
    name: string,
    from: string | null,
    tell: (doneBytes: number, totalBytes: number, member: string) => void,
    signal: AbortSignal,
  ): ReturnType<PackCare["add"]> {
    const pack = await this.#packs.view(name);
    if (pack.state === "installed") return { pack, from: null };
    const chosen = await this.#choose(name, from, signal);
    let failure: Fault | undefined;
    for (const giver of chosen) {
      try {
        const added = await this.#packs.add(
          name,
          {
            remedy: REMEDY,
            open: (archive, ends) => Promise.resolve(giver.open(archive, ends)),
          },
          (doneBytes, totalBytes) => tell(doneBytes, totalBytes, giver.name),
          signal,
        );
        return { pack: added, from: giver.name };
      } catch (error) {
        if (!isOfGiver(error)) throw error;
        failure = error;
      }
    }
    throw failure ?? new Fault("link_failed", `No member gives "${name}"`);
  }

  /** Members to be asked in turn; at least one. */
  async #choose(
    name: string,
    from: string | null,
    signal: AbortSignal,
  ): Promise<readonly PackGiver[]> {
    const allies = this.#allies();
    if (allies === null) {
      throw new Fault(
        "conflict",
        `Failed to have "${name}" of a member: this node is in no cluster; \`covey join\` brings it into one`,
      );
    }
    const archives = this.#packs.archivesOf(name);
    const givers = await allies.givers(signal);
    const meant = from === null ? givers : [one(givers, from)];
    const having = meant.filter((giver) => gives(giver, archives));
    if (having.length > 0) return having;
    throw notGiven(name, from === null ? null : meant[0], meant, archives);
  }
}

/** Why no member gives a pack, and how one comes to. */
function notGiven(
  name: string,
  named: PackGiver | null | undefined,
  meant: readonly PackGiver[],
  archives: readonly PackArchive[],
): Fault {
  const failed = `Failed to have "${name}" of a member`;
  const using = meant.filter(({ held, unkept }) =>
    archives.every(({ integrity }) =>
      held.has(integrity) || unkept.has(integrity)
    )
  );
  if (using.length > 0) {
    const names = using.map((giver) => `"${giver.name}"`).join(" and ");
    return new Fault(
      "not_found",
      `${failed}: ${names} added it before archives were kept for others, and what was unpacked can not be proved; there, \`covey engine remove ${name}\` and then \`covey engine add ${name}\` change that`,
    );
  }
  const who = named
    ? `"${named.name}" does not have`
    : "no member that answers has";
  return new Fault(
    "not_found",
    `${failed}: ${who} what this release needs; \`covey engine add ${name}\` on one that reaches the registry changes that`,
  );
}

/** The one member that a name means. */
function one(givers: readonly PackGiver[], from: string): PackGiver {
  const [found, ...others] = findMembers(givers, from);
  if (found !== undefined && others.length === 0) return found;
  const quoted = JSON.stringify(from.slice(0, 200));
  throw new Fault(
    found === undefined ? "not_found" : "invalid_request",
    found === undefined
      ? `No member that answers is called ${quoted}; \`covey members\` lists them`
      : `Several members are called ${quoted}; give the id of one of them, which \`covey members\` lists`,
    { param: "from" },
  );
}

function gives(giver: PackGiver, archives: readonly PackArchive[]): boolean {
  return archives.every(({ integrity }) => giver.held.has(integrity));
}

/** Whether another member may do better. */
function isOfGiver(error: unknown): error is Fault {
  return error instanceof Fault &&
    (error.code === "hub_failed" || error.code === "link_failed");
}
