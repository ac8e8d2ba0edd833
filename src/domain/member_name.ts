import type { NodeId } from "./identifier.ts";

/** What telling members apart needs of them. */
export interface NamedMember {
  /** Its node id. */
  readonly id: NodeId;
  /** Its name, which others may have too. */
  readonly name: string;
}

const SHORT_ID_LENGTH = 8;

/**
 * Names that tell members apart: a name that several have gets the beginning
 * of its id, as in `pi~6b0a1c2e`.
 *
 * @param members All members.
 * @returns The name to show by node id.
 */
export function distinctNames(
  members: readonly NamedMember[],
): ReadonlyMap<NodeId, string> {
  return new Map(members.map(({ id, name }) => {
    const others = members.filter((one) =>
      one.id !== id && sameName(one.name, name)
    );
    if (others.length === 0) return [id, name];
    const short = id.slice(0, SHORT_ID_LENGTH);
    const clear = others.every((one) => !one.id.startsWith(short));
    return [id, `${name}~${clear ? short : id}`];
  }));
}

/**
 * Find members by what a person writes: an id, a name that tells apart, or a
 * name alone, in any letter case.
 *
 * @param members All members.
 * @param text What was written.
 * @returns Those that it means; more than one when it is a name that several have.
 */
export function findMembers<Member extends NamedMember>(
  members: readonly Member[],
  text: string,
): readonly Member[] {
  const byId = members.filter(({ id }) => sameName(id, text));
  if (byId.length > 0) return byId;
  const shown = distinctNames(members);
  const distinct = members.filter(({ id }) =>
    sameName(shown.get(id) ?? "", text)
  );
  return distinct.length > 0
    ? distinct
    : members.filter(({ name }) => sameName(name, text));
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
