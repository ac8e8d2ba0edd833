/**
 * The cluster's commands, one file each.
 *
 * @module
 */
import type { Command } from "@covey/core/cli";
import { identityCommand } from "./identity.ts";
import { createLicenceCommand } from "./licence.ts";

/** All of them, in the order of the list. */
export const CLUSTER_COMMANDS: readonly Command[] = [
  identityCommand,
  createLicenceCommand(),
];
