import { greatest, readCelsius } from "./number_reading.ts";
import type { Facts, MachineReader, Sensor } from "./sensor.ts";

const FOLDER = "/sys/class/thermal";
const MOST_ZONES = 16;
const MOST_TRIPS = 8;
/** Zones come and go with modules only. */
const LOOK_AGAIN_SAMPLES = 300;
/** Zones of the processor, as kernels of several makers name them. */
const PROCESSOR = /cpu|soc|pkg|core|k10|big|little/i;

/** One zone of /sys/class/thermal. */
export interface ThermalZone {
  readonly type: string;
  /** Temperature at which the kernel begins to slow down, in degrees Celsius, or null. */
  readonly passiveCelsius: number | null;
  /** As `temp` has it now. */
  readonly temperature: string | null;
}

/**
 * Judge the zones: processor zones where there are any, else all.
 *
 * @param zones As read.
 * @returns The hottest one, and whether one has reached its passive trip point.
 */
export function judgeZones(zones: readonly ThermalZone[]): Facts | null {
  const known = zones.flatMap(({ passiveCelsius, temperature, type }) => {
    const celsius = readCelsius(temperature, 1000);
    return celsius === null ? [] : [{ celsius, passiveCelsius, type }];
  });
  if (known.length === 0) return null;
  const processor = known.filter(({ type }) => PROCESSOR.test(type));
  const judged = processor.length > 0 ? processor : known;
  const tripped = judged.filter(({ passiveCelsius }) =>
    passiveCelsius !== null
  );
  return {
    temperatureCelsius: greatest(judged.map(({ celsius }) => celsius)),
    isThrottled: tripped.length === 0
      ? null
      : tripped.some(({ celsius, passiveCelsius }) =>
        passiveCelsius !== null && celsius >= passiveCelsius
      ),
  };
}

/** The kernel's thermal zones. */
export function createThermalZones(reader: MachineReader): Sensor {
  let zones: readonly { path: string; type: string; passive: number | null }[] =
    [];
  let samples = 0;

  async function look(): Promise<void> {
    const names = (await reader.names(FOLDER))
      .filter((name) => /^thermal_zone\d+$/.test(name)).slice(0, MOST_ZONES);
    zones = await Promise.all(names.map(async (name) => {
      const path = `${FOLDER}/${name}`;
      return {
        path,
        type: (await reader.text(`${path}/type`))?.trim() ?? "",
        passive: await passiveTrip(reader, path),
      };
    }));
  }

  return {
    name: "thermal zones",
    pace: "fast",
    async sample() {
      if (zones.length === 0 || samples % LOOK_AGAIN_SAMPLES === 0) {
        await look();
      }
      samples++;
      return judgeZones(
        await Promise.all(zones.map(async ({ passive, path, type }) => ({
          type,
          passiveCelsius: passive,
          temperature: await reader.text(`${path}/temp`),
        }))),
      );
    },
  };
}

/** The lowest passive trip point of a zone. */
async function passiveTrip(
  reader: MachineReader,
  zone: string,
): Promise<number | null> {
  const found: number[] = [];
  for (let trip = 0; trip < MOST_TRIPS; trip++) {
    const type = await reader.text(`${zone}/trip_point_${trip}_type`);
    if (type === null) break;
    if (type.trim() !== "passive") continue;
    const celsius = readCelsius(
      await reader.text(`${zone}/trip_point_${trip}_temp`),
      1000,
    );
    if (celsius !== null) found.push(celsius);
  }
  return found.length === 0 ? null : Math.min(...found);
}
