import type { ClusterAction, JsonObject } from "@covey/core/domain";
import { describeCopy } from "../copy/copy_actions.ts";
import {
  describeDoor,
  describeInvite,
  describeJoin,
  describeLeave,
} from "./bodies.ts";

/** JSON schemas of the bodies that actions take, of those that an operator sends one with. */
export function describeActions(): {
  readonly [Action in ClusterAction]?: JsonObject;
} {
  return {
    invite: describeInvite(),
    join: describeJoin(),
    leave: describeLeave(),
    door: describeDoor(),
    copy: describeCopy(),
  };
}
