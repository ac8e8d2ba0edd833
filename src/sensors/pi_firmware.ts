import { readCelsius } from "./number_reading.ts";
import type { Facts, MachineReader, Sensor } from "./sensor.ts";

const THROTTLED = /^throttled=0x([0-9a-f]{1,8})\s*$/i;
const TEMPERATURE = /^temp=(\d+(?:\.\d+)?)'C\s*$/;

const UNDER_VOLTAGE = 1 << 0;
const CLOCK_CAPPED = 1 << 1;
const THROTTLED_NOW = 1 << 2;
const SOFT_LIMIT = 1 << 3;

/**
 * Read `vcgencmd get_throttled`. Bits 0 to 3 tell of now, bits 16 to 19 of
 * some time since the start, which is no news.
 *
 * @param text What it printed.
 */
export function parseThrottled(text: string | null): Facts | null {
  const hex = THROTTLED.exec(text ?? "")?.[1];
  if (hex === undefined) return null;
  const bits = parseInt(hex, 16);
  const weak = (bits & UNDER_VOLTAGE) !== 0;
  return {
    isThrottled: (bits & (THROTTLED_NOW | SOFT_LIMIT)) !== 0,
    isPowerCapped: weak || (bits & CLOCK_CAPPED) !== 0,
  };
}

/** Read `vcgencmd measure_temp`, in degrees Celsius. */
export function parseFirmwareTemperature(text: string | null): number | null {
  return readCelsius(TEMPERATURE.exec(text ?? "")?.[1]);
}

/** The firmware of a Raspberry Pi. */
export function createPiFirmware(reader: MachineReader): Sensor {
  return {
    name: "vcgencmd",
    pace: "slow",
    async sample(signal) {
      const facts = parseThrottled(
        await reader.run(["vcgencmd", "get_throttled"], signal),
      );
      if (facts === null) return null;
      return {
        ...facts,
        temperatureCelsius: parseFirmwareTemperature(
          await reader.run(["vcgencmd", "measure_temp"], signal),
        ),
      };
    },
  };
}
