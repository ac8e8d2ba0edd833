import type { Log, Router } from "./domain/mod.ts";
import type { Files } from "./platform/mod.ts";
import { isMarkedDraining, markDraining } from "./store/drain_mark.ts";

/** What draining a node touches. */
export interface OwnDrainOptions {
  readonly files: Files;
  readonly dataDir: string;
  readonly log: Log;
  readonly router: Pick<Router, "drain">;
  /** Called when it has changed, so that the others hear of it. */
  changed(): void;
}

/**
 * Take up whether this node is drained. An operator who drains a machine to
 * work on it restarts it more than once: it stays drained until it is taken
 * back.
 *
 * @param options What it touches.
 * @returns Drains the node, or has it take work again.
 * @throws {FileError} When the data folder does not say.
 */
export async function openDrain(
  { changed, dataDir, files, log, router }: OwnDrainOptions,
): Promise<(draining: boolean) => Promise<void>> {
  if (await isMarkedDraining(files, dataDir)) {
    router.drain(true);
    log.warn(
      "This node was drained before its restart and takes no work; `covey undrain` with its name takes it back",
    );
  }
  return async (draining) => {
    // What can not be kept is not done: it would be forgotten at the worst time.
    await markDraining(files, dataDir, draining);
    router.drain(draining);
    log.info(
      draining
        ? "This node takes no more work; what runs is finished"
        : "This node takes work again",
    );
    changed();
  };
}
