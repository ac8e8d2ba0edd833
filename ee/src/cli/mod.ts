/**
 * The cluster's commands, one file each.
 *
 * @module
 */
import type { Command } from "@covey/core/cli";
import { copiesCommand } from "./copies.ts";
import { copyCommand, syncCommand } from "./copy.ts";
import { doctorCommand } from "./doctor.ts";
import { doorCommand } from "./door.ts";
import { identityCommand } from "./identity.ts";
import { inviteCommand } from "./invite.ts";
import { joinCommand } from "./join.ts";
import { leaveCommand } from "./leave.ts";
import { createLicenceCommand } from "./licence.ts";
import { removeCommand } from "./remove.ts";

/** All of them, in the order of the list. */
export const CLUSTER_COMMANDS: readonly Command[] = [
  inviteCommand,
  joinCommand,
  leaveCommand,
  removeCommand,
  doorCommand,
  copyCommand,
  syncCommand,
  copiesCommand,
  doctorCommand,
  identityCommand,
  createLicenceCommand(),
];
