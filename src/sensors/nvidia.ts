import { cardMemoryFacts } from "./card_memory.ts";
import { greatest, readCelsius, readNumber } from "./number_reading.ts";
import type { Facts, MachineReader, Sensor } from "./sensor.ts";

const GPU_QUERY = [
  "nvidia-smi",
  "--query-gpu=power.limit,power.default_limit,clocks_throttle_reasons.active,utilization.gpu,temperature.gpu,memory.total,memory.free",
  "--format=csv,noheader,nounits",
];
const PROCESS_QUERY = [
  "nvidia-smi",
  "--query-compute-apps=pid",
  "--format=csv,noheader,nounits",
];
const MOST_CARDS = 32;
const MOST_PROCESSES = 256;
const MOST_WATTS = 100_000;
const MIB = 2 ** 20;
const MOST_MIB = 2 ** 30;

/** NVML's throttle reasons: software and hardware thermal slowdown, hardware slowdown. */
const HOT = 0x20n | 0x40n | 0x08n;
/** The power supply asks the card to brake. That it meets its own limit is everyday life. */
const POWER_BRAKE = 0x80n;
/** Below this share of the factory's limit an operator has capped the card. */
const CAPPED_BELOW = 0.95;
/** Cards that do less are nobody's at the moment. */
const IN_USE = 0.05;

/**
 * Read what `nvidia-smi --query-gpu` says, one line a card.
 *
 * @param text What it printed; fields may be `[N/A]` or `[Not Supported]`, memory's among them where a card has none of its own.
 * @param isUsed Whether this node's engines compute on such cards.
 */
export function parseCards(text: string | null, isUsed = true): Facts | null {
  const cards = (text ?? "").split("\n").slice(0, MOST_CARDS).flatMap(
    (line) => {
      const fields = line.split(",").map((field) => field.trim());
      if (fields.length !== 7) return [];
      const [limit, factory, reasons, busy, celsius, total, free] = fields;
      const totalMib = readNumber(total, 1, MOST_MIB);
      const freeMib = readNumber(free, 0, totalMib ?? MOST_MIB);
      const watts = readNumber(limit, 1, MOST_WATTS);
      const factoryWatts = readNumber(factory, 1, MOST_WATTS);
      const bits = /^0x[0-9a-f]{1,16}$/i.test(reasons ?? "")
        ? BigInt(reasons ?? 0)
        : null;
      const lowered = watts === null || factoryWatts === null
        ? null
        : watts < factoryWatts * CAPPED_BELOW;
      const percent = readNumber(busy, 0, 100);
      return [{
        isHot: bits === null ? null : (bits & HOT) !== 0n,
        isCapped: bits !== null && (bits & POWER_BRAKE) !== 0n ? true : lowered,
        busyShare: percent === null ? null : percent / 100,
        celsius: readCelsius(celsius),
        memory: {
          totalBytes: totalMib === null ? null : totalMib * MIB,
          freeBytes: freeMib === null ? null : freeMib * MIB,
        },
      }];
    },
  );
  const facts: Facts = {
    isThrottled: any(cards.map(({ isHot }) => isHot)),
    isPowerCapped: any(cards.map(({ isCapped }) => isCapped)),
    gpuBusyShare: greatest(cards.map(({ busyShare }) => busyShare)),
    temperatureCelsius: greatest(cards.map(({ celsius }) => celsius)),
    ...cardMemoryFacts(cards.map(({ memory }) => memory), isUsed),
  };
  return Object.values(facts).every((fact) => fact === null) ? null : facts;
}

/** Read the process ids that `nvidia-smi --query-compute-apps` lists. */
export function parseComputePids(text: string | null): readonly number[] {
  return (text ?? "").split("\n").slice(0, MOST_PROCESSES).flatMap((line) =>
    readNumber(line, 1, 2 ** 31) ?? []
  );
}

/**
 * NVIDIA cards. Who computes there is asked only while a card works.
 *
 * @param reader The machine.
 * @param ownPids Processes of this node and its engines.
 * @param isUsed Whether its engines compute on them.
 */
export function createNvidia(
  reader: MachineReader,
  ownPids: () => readonly number[],
  isUsed: () => boolean,
): Sensor {
  return {
    name: "nvidia-smi",
    pace: "slow",
    async sample(signal) {
      const facts = parseCards(
        await reader.run(GPU_QUERY, signal),
        isUsed(),
      );
      if (facts === null) return null;
      const { gpuBusyShare } = facts;
      if (gpuBusyShare === undefined || gpuBusyShare === null) return facts;
      if (gpuBusyShare < IN_USE) return { ...facts, foreignGpuProcesses: 0 };
      const listed = await reader.run(PROCESS_QUERY, signal);
      if (listed === null) return facts;
      const own = new Set(ownPids());
      const foreign = parseComputePids(listed).filter((pid) => !own.has(pid));
      // A container sees the host's numbers, its own processes among them: only
      // processes that are visible from here can be told apart.
      const seen = await Promise.all(
        foreign.map((pid) => reader.device(`/proc/${pid}`)),
      );
      return {
        ...facts,
        foreignGpuProcesses: seen.filter((device) => device !== null).length,
      };
    },
  };
}

function any(flags: readonly (boolean | null)[]): boolean | null {
  const known = flags.filter((flag) => flag !== null);
  return known.length === 0 ? null : known.includes(true);
}
