import type { NodeId } from "@covey/core/domain";

/** One thing that multicast DNS said about a node. Nothing in it is proven. */
export type Sighting =
  /** A node offers its link, or its place has changed. */
  | {
    readonly kind: "seen";
    /** Random name of that node's start. */
    readonly instance: string;
    /** Id that it claims; the link's certificate decides. */
    readonly claimedId: NodeId;
    /** Best first; link-local IPv6 with the zone it was heard on. */
    readonly addresses: readonly string[];
    /** Port of its link. */
    readonly port: number;
    readonly interfaceName: string;
  }
  /** It took its announcement back, or that ran out: a hint, to be confirmed by a refused dial. */
  | {
    readonly kind: "goodbye";
    readonly instance: string;
    readonly claimedId: NodeId;
  };
