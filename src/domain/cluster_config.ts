/** A secret that prints as `[secret]`, so that no log, error or inspection can show it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself; call it only where the secret is used. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [Symbol.for("Deno.customInspect")](): string {
    return "[secret]";
  }
}

/** A peer to dial where multicast does not reach. */
export interface StaticPeer {
  readonly host: string;
  readonly port: number;
}

/** The part of the configuration that the cluster code reads. */
export interface ClusterConfig {
  readonly secret: Secret;
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
}
