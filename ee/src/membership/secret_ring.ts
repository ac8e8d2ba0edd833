import type { SecretSlot } from "../admission/admission_way.ts";
import type { ClusterKeys } from "../identity/cluster_keys.ts";

/** What this node knows of its cluster's secrets: its own, and the one before a rotation. */
export class SecretRing {
  readonly #keys: readonly (ClusterKeys | null)[];

  /**
   * @param current Null for a node without a secret.
   * @param previous Null unless a rotation is under way.
   */
  constructor(current: ClusterKeys | null, previous: ClusterKeys | null) {
    this.#keys = [current, previous];
  }

  /** Whether there is any secret. */
  get isEmpty(): boolean {
    return this.#keys.every((keys) => keys === null);
  }

  /** The password in a slot, or null. */
  password(slot: SecretSlot): Uint8Array<ArrayBuffer> | null {
    return this.#keys[slot]?.admissionPassword ?? null;
  }

  /** Labels of the clusters that its secrets stand for. */
  clusterIds(): readonly string[] {
    return this.#keys.flatMap((keys) => keys === null ? [] : [keys.clusterId]);
  }

  /**
   * What to ask a node of unknown secrets with: both may be in the middle of a
   * rotation, and neither can say so. Each run tries one of this node's secrets
   * against one of the other's.
   *
   * @returns Slots here and there, the likeliest first.
   */
  runs(): readonly { readonly own: SecretSlot; readonly theirs: SecretSlot }[] {
    const all = [
      { own: 0, theirs: 0 },
      { own: 1, theirs: 0 },
      { own: 0, theirs: 1 },
    ] as const;
    return all.filter(({ own }) => this.password(own) !== null);
  }
}
