import {
  type ClusterAction,
  Fault,
  type Host,
  type JsonObject,
  type JsonValue,
} from "@covey/core/domain";
import type { Platform } from "@covey/core/platform";

/**
 * What an operator gets of a node that is in no cluster.
 *
 * @throws {Fault} Where the action makes no sense there.
 */
export async function actAlone(
  action: ClusterAction,
  _body: JsonObject,
  host: Host,
  platform: Platform,
  signal: AbortSignal,
): Promise<JsonValue> {
  switch (action) {
    case "audit":
      return { events: [] };
    case "refresh":
      return { asked: 0 };
    case "copies":
      return { copies: [], unknown: [] };
    case "doctor": {
      const { consult } = await import("./doctor/consult.ts");
      return await consult(
        { state: "none" },
        platform,
        host,
        signal,
      );
    }
    case "cancel_copy":
    case "copy":
    case "door":
    case "drain":
    case "invite":
    case "join":
    case "leave":
    case "pause_copy":
    case "remove":
    case "resume_copy":
      throw new Fault(
        "invalid_request",
        "This node is in no cluster; `covey invite` founds one, `covey join` or COVEY_CLUSTER_SECRET joins one",
      );
    default:
      return action satisfies never;
  }
}
