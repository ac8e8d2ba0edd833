import type {
  CardRoom,
  Conditions,
  Log,
  Machine,
  MachineReading,
  ServedCallers,
  SpeedPrior,
  Tier,
} from "../domain/mod.ts";
import type { Clock, Files, Processes } from "../platform/mod.ts";
import { type BatteryPolicy, servedOnBattery } from "./battery_policy.ts";
import { createHostReader } from "./host_reader.ts";
import { tierOfMachine } from "./machine_tier.ts";
import { judgeConditions } from "./judge_conditions.ts";
import { Sampler } from "./sampler.ts";
import type { GpuMaker } from "./seen_gpus.ts";
import type { MachineReader } from "./sensor.ts";
import { loadSensors } from "./sensor_list.ts";
import { type SpeedCondition, speedConditions } from "./speed_conditions.ts";
import { SpeedEffects } from "./speed_effects.ts";

/** How often the machine's fitness is judged anew. */
const JUDGE_EVERY_MS = 30_000;
/** Sensors that tell of cards' memory. */
const CARD_SENSORS: readonly string[] = ["amdgpu", "nvidia-smi"];

/** What sensors are made of. */
export interface SensorsOptions {
  readonly files: Pick<Files, "readText" | "list" | "stat">;
  readonly processes: Pick<Processes, "spawn">;
  readonly clock: Clock;
  readonly log: Log;
  /** Other systems have no sensors; nothing is known of them. */
  readonly platform: "linux" | "darwin" | "other";
  /** Where programs such as `nvidia-smi` are looked for, as PATH has it. */
  readonly path: string;
  readonly modelsDir: string;
  readonly onBattery: BatteryPolicy;
  /** The machine's weight class as its operator says; null or absent for by its hardware. */
  readonly tier?: Tier | null;
  /** Whether engines have models to run on this machine's processors and cards. */
  computesHere(): boolean;
  /** Process ids of this node's engines. */
  ownPids(): readonly number[];
  /** Whether this node's engines compute on a maker's cards; absent for no. */
  computesOn?(maker: GpuMaker): boolean;
  /** Memory of cards by what engines said of them, for those of which no sensor knows; null for nothing said. */
  saidCards?(): CardRoom | null;
  /** Whether this node has work now; idle ones are sampled less often. */
  isBusy(): boolean;
}

/** An effect on speed as it is shown. */
export interface ShownEffect {
  readonly condition: SpeedCondition;
  /** Learned speed under it over that without, shrunk towards the prior. */
  readonly share: number;
  readonly observations: number;
}

/** The machine as its sensors see it, and what its state does to speed. */
export interface Sensors extends Machine, SpeedPrior, AsyncDisposable {
  /** Memory that this process's container leaves it now, in bytes; `Infinity` where none limits it. */
  containerFreeBytes(): Promise<number>;
  /** Look at cards' memory now, however long ago it was looked at last. */
  lookAtCards(): Promise<void>;
  /** Memory of cards as sensors saw it last; null where none tells. */
  seenCards(): CardRoom | null;
  /** What slows engines down now, with its learned effect. */
  effects(): readonly ShownEffect[];
}

/**
 * Start watching this machine.
 *
 * @param options Ports and settings.
 * @returns The sensors. Disposing of them stops every look at once.
 */
export function createSensors(options: SensorsOptions): Sensors {
  return new MachineSensors(options);
}

class MachineSensors implements Sensors {
  readonly #options: SensorsOptions;
  readonly #reader: MachineReader;
  readonly #sampler: Sampler;
  readonly #effects = new SpeedEffects();
  #active: ReadonlySet<SpeedCondition> = new Set();
  #conditions: Conditions = { ok: true, reasons: [] };
  #hasJudged = false;
  /** Once seen, a card stays, whatever becomes of its sensor. */
  #hasCard = false;
  #judgeAtMs: number;
  #served: ServedCallers = { kind: "everyone" };

  constructor(options: SensorsOptions) {
    const { clock, log, modelsDir, ownPids } = options;
    this.#options = options;
    this.#reader = createHostReader(options);
    this.#judgeAtMs = clock.monotonic() + JUDGE_EVERY_MS;
    this.#sampler = new Sampler({
      load: () =>
        loadSensors(options.platform, this.#reader, {
          modelsDir,
          ownPids,
          computesOn: (maker) => options.computesOn?.(maker) ?? false,
          nowMs: () => clock.monotonic(),
        }),
      clock,
      log,
      isBusy: options.isBusy,
      onReading: (reading) => this.#take(reading),
    });
  }

  reading(): MachineReading {
    const { reading } = this.#sampler;
    if (reading.cardMemoryTotalBytes !== null) return reading;
    const said = this.#options.saidCards?.() ?? null;
    return said === null ? reading : {
      ...reading,
      cardMemoryTotalBytes: said.totalBytes,
      cardMemoryFreeBytes: said.freeBytes,
    };
  }

  seenCards(): CardRoom | null {
    const { cardMemoryFreeBytes: freeBytes, cardMemoryTotalBytes: totalBytes } =
      this.#sampler.reading;
    return totalBytes === null || freeBytes === null
      ? null
      : { totalBytes, freeBytes };
  }

  conditions(): Conditions {
    return this.#conditions;
  }

  served(): ServedCallers {
    return this.#served;
  }

  tier(): Tier | null {
    return this.#options.tier ??
      tierOfMachine(this.#sampler.reading, this.#hasCard);
  }

  factor(): number {
    return this.#effects.factor(this.#active);
  }

  observe(relativeSpeed: number): void {
    this.#effects.observe(relativeSpeed, this.#active);
  }

  effects(): readonly ShownEffect[] {
    return [...this.#active].map((condition) => ({
      condition,
      ...this.#effects.effect(condition),
    }));
  }

  async containerFreeBytes(): Promise<number> {
    if (this.#options.platform !== "linux") return Infinity;
    const { readCgroupMemory } = await import("./cgroup_memory.ts");
    const memory = await readCgroupMemory(this.#reader);
    return memory?.availableBytes ?? Infinity;
  }

  async lookAtCards(): Promise<void> {
    await this.#sampler.look(CARD_SENSORS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sampler[Symbol.asyncDispose]();
  }

  #take(reading: MachineReading): void {
    this.#hasCard ||= reading.gpuBusyShare !== null;
    this.#active = speedConditions(reading, this.#active);
    const { clock, computesHere, log, onBattery } = this.#options;
    const served = servedOnBattery(reading, onBattery);
    if (served.kind !== this.#served.kind) {
      log.info("Whom this node serves has changed", {
        to: served.kind,
        reason: served.kind === "everyone" ? null : served.reason,
      });
    }
    this.#served = served;
    const nowMs = clock.monotonic();
    // The first time as soon as the disk was looked at, after the start.
    const isFirst = !this.#hasJudged && reading.diskFreeBytes !== null;
    if (!isFirst && nowMs < this.#judgeAtMs) return;
    this.#hasJudged = true;
    this.#judgeAtMs = nowMs + JUDGE_EVERY_MS;
    const conditions = judgeConditions(reading, computesHere());
    if (conditions.ok !== this.#conditions.ok) {
      if (conditions.ok) log.info("This machine is fit for work again");
      else {
        log.warn("This machine is used less than others", {
          reason: conditions.reasons.join("; "),
        });
      }
    }
    this.#conditions = conditions;
  }
}
