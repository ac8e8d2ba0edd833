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
export function actAlone(
  action: ClusterAction,
  _body: JsonObject,
  _host: Host,
  _platform: Platform,
  _signal: AbortSignal,
): Promise<JsonValue> {
  switch (action) {
    case "audit":
      return Promise.resolve({ events: [] });
    case "doctor":
      return Promise.reject(
        new Fault("not_implemented", "Covey does not implement doctor yet"),
      );
    case "door":
    case "invite":
    case "join":
    case "leave":
    case "remove":
      return Promise.reject(
        new Fault(
          "invalid_request",
          "This node is in no cluster; `covey invite` founds one, `covey join` or COVEY_CLUSTER_SECRET joins one",
        ),
      );
    default:
      return action satisfies never;
  }
}
