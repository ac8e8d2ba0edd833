import {
  bytesToStayFree,
  type Conditions,
  type MachineReading,
} from "../domain/mod.ts";

const LOAD_PER_CPU = 2;

/**
 * Judge whether a machine is fit for work: a tenth of the disk or 20 GB free,
 * and a load, less this node's own engines, under 2 a processor. What is not
 * known fails nothing. Failing only degrades: a full disk or a busy evening
 * must not take a working home off line.
 *
 * @param machine The reading.
 * @param computesHere Whether engines run on its processors; else its load is nobody's concern.
 */
export function judgeConditions(
  machine: MachineReading,
  computesHere: boolean,
): Conditions {
  const reasons: string[] = [];
  const { diskFreeBytes, diskTotalBytes } = machine;
  if (diskFreeBytes !== null && diskTotalBytes !== null && diskTotalBytes > 0) {
    const share = diskFreeBytes / diskTotalBytes;
    if (diskFreeBytes < bytesToStayFree(diskTotalBytes)) {
      reasons.push(
        `has ${(share * 100).toFixed(0)} % (${
          (diskFreeBytes / 1e9).toFixed(1)
        } GB) of its models' disk left`,
      );
    }
  }
  const { cpuCount, load1, ownLoad1 } = machine;
  if (computesHere && load1 !== null && cpuCount !== null) {
    const others = load1 - (ownLoad1 ?? 0);
    if (others >= LOAD_PER_CPU * cpuCount) {
      reasons.push(
        `is busy with other work: load ${
          others.toFixed(1)
        } on ${cpuCount} processors`,
      );
    }
  }
  return { ok: reasons.length === 0, reasons };
}
