import type { AdmissionKind } from "./admission_kind.ts";

/**
 * Which password a run is about, as its initiator names it. Nothing in it is
 * secret or depends on a secret.
 */
export type AdmissionWay =
  | {
    readonly kind: "secret";
    /**
     * 0 for the answering side's secret, 1 for the one it had before a
     * rotation. It answers both alike, whether it has the latter or not.
     */
    readonly slot: SecretSlot;
  }
  /** The token's name. */
  | { readonly kind: "token"; readonly id: string }
  | { readonly kind: "code" };

/** The two secrets that a node can have at a time. */
export type SecretSlot = 0 | 1;

/**
 * What of a way, its kind apart, both sides must agree on: a hello changed on
 * its way ends the run.
 *
 * @param way The way.
 * @returns Nothing where there is nothing to tell apart.
 */
export function wayBytes(way: AdmissionWay): readonly Uint8Array[] {
  switch (way.kind) {
    case "secret":
      return way.slot === 0 ? [] : [Uint8Array.of(way.slot)];
    case "token":
      return [Uint8Array.fromHex(way.id)];
    case "code":
      return [];
    default:
      return way satisfies never;
  }
}

/**
 * Read the way from the fields of a hello.
 *
 * @param kind The way in.
 * @param fields Those that only some kinds have; the slot is 0 where an older version names none.
 * @returns The way, or undefined when a field is missing.
 */
export function wayOf(
  kind: AdmissionKind,
  fields: {
    readonly slot?: SecretSlot | undefined;
    readonly token?: Uint8Array | undefined;
  },
): AdmissionWay | undefined {
  switch (kind) {
    case "secret":
      return { kind, slot: fields.slot ?? 0 };
    case "token":
      return fields.token === undefined
        ? undefined
        : { kind, id: fields.token.toHex() };
    case "code":
      return { kind };
    default:
      return kind satisfies never;
  }
}
