/** A secret that prints as `[secret]`, so that no log, error or inspection can show it. */
export class Secret {
  readonly #value: string;

  /**
   * Keep a value.
   *
   * @param value What is to be kept.
   */
  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself; call it only where the secret is used. */
  reveal(): string {
    return this.#value;
  }

  /** What a text of it holds. */
  toString(): string {
    return "[secret]";
  }

  /** What JSON of it holds. */
  toJSON(): string {
    return "[secret]";
  }

  /** What an inspection of it holds. */
  [Symbol.for("Deno.customInspect")](): string {
    return "[secret]";
  }
}

/** A peer to dial where multicast does not reach. */
export type StaticPeer =
  | {
    readonly kind: "address";
    /** Address or name of the peer. */
    readonly host: string;
    /** Port of its link. */
    readonly port: number;
  }
  /** Reached through the system's ssh, so that it may expose port 22 only. */
  | {
    readonly kind: "ssh";
    /** One word of letters, digits, `_`, `.` and `-` that does not begin with `-`. */
    readonly user: string;
    /** The same; a name in the user's ssh configuration is one too. */
    readonly host: string;
    /** Port of its ssh server, or null for what ssh takes by itself. */
    readonly port: number | null;
    /** Port of its link, on its own loopback interface. */
    readonly linkPort: number;
  };

/** The part of the configuration that the cluster code reads. */
export interface ClusterConfig {
  /** Null where none is set: such a node is in a cluster by invitation alone. */
  readonly secret: Secret | null;
  /** The secret before a rotation, or null. */
  readonly previousSecret: Secret | null;
  /** Address the link listens on; `0.0.0.0` or `::` for all. */
  readonly linkHost: string;
  /** Port of the link; 0 for any free one. */
  readonly linkPort: number;
  /** Addresses to announce where the host cannot know them; empty for found ones. */
  readonly advertise: readonly string[];
  /** Static peers. */
  readonly peers: readonly StaticPeer[];
  /** Interface names or addresses for mDNS, or null for all usable ones. */
  readonly mdnsInterfaces: readonly string[] | null;
  /** Licence text, or null. */
  readonly licence: string | null;
  /** Whether a saturated node has its models copied to idle members; absent for no. */
  readonly placeModels?: boolean;
}
