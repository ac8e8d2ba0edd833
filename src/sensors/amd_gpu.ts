import { greatest, readNumber } from "./number_reading.ts";
import type { MachineReader, Sensor } from "./sensor.ts";

const FOLDER = "/sys/class/drm";

/** Read `gpu_busy_percent`, as a share. */
export function parseBusyPercent(text: string | null): number | null {
  const percent = readNumber(text, 0, 100);
  return percent === null ? null : percent / 100;
}

/** AMD cards: how busy they are; the kernel does not say for whom. */
export function createAmdGpu(reader: MachineReader): Sensor {
  return {
    name: "amdgpu",
    pace: "slow",
    async sample() {
      const cards = (await reader.names(FOLDER))
        .filter((name) => /^card\d+$/.test(name));
      const gpuBusyShare = greatest(
        await Promise.all(cards.map(async (card) =>
          parseBusyPercent(
            await reader.text(`${FOLDER}/${card}/device/gpu_busy_percent`),
          )
        )),
      );
      return gpuBusyShare === null ? null : { gpuBusyShare };
    },
  };
}
