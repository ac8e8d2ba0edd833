import type { KeyHash } from "../../src/identity/key_hash.ts";
import type { MemberRow } from "../../src/membership/member_row.ts";
import { nodeIdOf } from "../link/link_fixture.ts";

/** Key hash number n; a greater n is a greater hash. */
export function keyOf(n: number): KeyHash {
  return n.toString(16).padStart(64, "0") as KeyHash;
}

/** A community member's row. */
export function rowOf(n: number): MemberRow {
  return {
    id: nodeIdOf(n),
    keyHash: keyOf(n),
    name: `node-${n}`,
    inc: 1,
    state: "member",
    seat: "community",
  };
}
