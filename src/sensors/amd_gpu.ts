import { type CardMemory, cardMemoryFacts } from "./card_memory.ts";
import { greatest, readNumber } from "./number_reading.ts";
import type { MachineReader, Sensor } from "./sensor.ts";

const FOLDER = "/sys/class/drm";
const MOST_BYTES = 2 ** 50;
/**
 * Cards with less are parts of a processor whose firmware sets that much of the
 * machine's memory apart; they compute in the rest of it too (Ollama draws the
 * line there as well).
 */
const LEAST_OWN_BYTES = 2 ** 30;

/** Read `gpu_busy_percent`, as a share. */
export function parseBusyPercent(text: string | null): number | null {
  const percent = readNumber(text, 0, 100);
  return percent === null ? null : percent / 100;
}

/**
 * Read a card's `mem_info_vram_total` and `mem_info_vram_used`.
 *
 * @returns Null for a card without memory of its own.
 */
export function parseVideoMemory(
  total: string | null,
  used: string | null,
): CardMemory | null {
  const totalBytes = readNumber(total, 0, MOST_BYTES);
  if (totalBytes === null || totalBytes < LEAST_OWN_BYTES) return null;
  const usedBytes = readNumber(used, 0, totalBytes);
  return {
    totalBytes,
    freeBytes: usedBytes === null ? null : totalBytes - usedBytes,
  };
}

/**
 * AMD cards: how busy they are, and how full; the kernel does not say of whom.
 *
 * @param reader The machine.
 * @param isUsed Whether this node's engines compute on them.
 */
export function createAmdGpu(
  reader: MachineReader,
  isUsed: () => boolean,
): Sensor {
  return {
    name: "amdgpu",
    pace: "slow",
    async sample() {
      const cards = await Promise.all(
        (await reader.names(FOLDER)).filter((name) => /^card\d+$/.test(name))
          .map(async (card) => {
            const text = (name: string) =>
              reader.text(`${FOLDER}/${card}/device/${name}`);
            return {
              busy: parseBusyPercent(await text("gpu_busy_percent")),
              memory: parseVideoMemory(
                await text("mem_info_vram_total"),
                await text("mem_info_vram_used"),
              ),
            };
          }),
      );
      const gpuBusyShare = greatest(cards.map(({ busy }) => busy));
      const memory = cardMemoryFacts(
        cards.flatMap((card) => card.memory ?? []),
        isUsed(),
      );
      const facts = {
        ...memory,
        ...gpuBusyShare === null ? {} : { gpuBusyShare },
      };
      return Object.keys(facts).length === 0 ? null : facts;
    },
  };
}
