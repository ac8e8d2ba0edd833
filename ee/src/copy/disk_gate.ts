import type { MachineReading } from "@covey/core/domain";
import { CopyError } from "./copy_error.ts";

/** What has to stay free is the smaller of these two: what a healthy machine has. */
const FREE_SHARE = 0.1;
const FREE_BYTES = 20e9;
const MEGABYTE = 1e6;

/**
 * See whether a model may be put on this machine's disk.
 *
 * @param neededBytes What is still to come.
 * @param reading The machine, or null where nobody watches it; what is not known stops nothing.
 * @throws {CopyError} When too little would stay free.
 */
export function checkRoom(
  neededBytes: number,
  reading: MachineReading | null,
): void {
  const free = reading?.diskFreeBytes ?? null;
  const total = reading?.diskTotalBytes ?? null;
  if (free === null || total === null) return;
  const stays = Math.min(total * FREE_SHARE, FREE_BYTES);
  const lack = neededBytes + stays - free;
  if (lack <= 0) return;
  throw new CopyError(
    `The disk of the models folder has ${megabytes(free)} free, and ${
      megabytes(neededBytes)
    } are to come, of which ${
      megabytes(stays)
    } have to stay free: make room for ${megabytes(lack)} more`,
  );
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / MEGABYTE)} MB`;
}
