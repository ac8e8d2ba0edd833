import { greatest, readNumber } from "./number_reading.ts";
import type { Facts, MachineReader, Sensor } from "./sensor.ts";

const FOLDER = "/sys/devices/system/cpu/cpufreq";
const MOST_POLICIES = 8;
const HIGHEST_KHZ = 20_000_000;
/** A ceiling this far below the hardware's is a cap: turbo differs by less. */
const CAPPED_BELOW = 0.9;

/** Clocks of one cpufreq policy as read, in kHz. */
export interface ClockPolicy {
  /** `cpuinfo_max_freq`: what the hardware can do. */
  readonly hardware: string | null;
  /** `scaling_max_freq`: what it may do now. */
  readonly ceiling: string | null;
  /** `scaling_cur_freq`: what it does; low when idle. */
  readonly current: string | null;
}

/**
 * Judge the clocks. What a clock is tells little, since idle ones are slow;
 * what it may be at most tells of caps, whoever made them.
 *
 * @param policies As read.
 */
export function judgeClocks(policies: readonly ClockPolicy[]): Facts | null {
  const shares = policies.flatMap(({ ceiling, current, hardware }) => {
    const most = readNumber(hardware, 1, HIGHEST_KHZ);
    if (most === null) return [];
    const share = (text: string | null) => {
      const khz = readNumber(text, 1, HIGHEST_KHZ);
      return khz === null ? null : Math.min(khz / most, 1);
    };
    return [{ allowed: share(ceiling), current: share(current) }];
  });
  if (shares.length === 0) return null;
  const allowed = greatest(shares.map((one) => one.allowed));
  return {
    clockShare: greatest(shares.map(({ current }) => current)),
    isPowerCapped: allowed === null ? null : allowed < CAPPED_BELOW,
  };
}

/** Clocks of the processor. */
export function createCpuClock(reader: MachineReader): Sensor {
  return {
    name: "cpufreq",
    pace: "slow",
    async sample() {
      const names = (await reader.names(FOLDER))
        .filter((name) => /^policy\d+$/.test(name)).slice(0, MOST_POLICIES);
      return judgeClocks(
        await Promise.all(names.map(async (name) => {
          const path = `${FOLDER}/${name}`;
          return {
            hardware: await reader.text(`${path}/cpuinfo_max_freq`),
            ceiling: await reader.text(`${path}/scaling_max_freq`),
            current: await reader.text(`${path}/scaling_cur_freq`),
          };
        })),
      );
    },
  };
}
