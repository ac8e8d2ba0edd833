import assert from "node:assert/strict";
import { createMetrics } from "../../src/observe/metrics.ts";
import {
  createDenoProcesses,
  createSystemClock,
  ManualClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { createHostReader } from "../../src/sensors/host_reader.ts";
// Loaded before the clock is moved, which does not wait for the disk.
import "../../src/sensors/linux_sensors.ts";
import {
  createSensors,
  registerMachineMetrics,
  type Sensors,
  type SensorsOptions,
} from "../../src/sensors/mod.ts";
import { FakeProcesses } from "../fakes/fake_processes.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

const GIB = 2 ** 30;
const PSI_CALM = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

/** A machine that a test plays: what files say, and what programs print. */
class PlayedMachine {
  readonly clock = new ManualClock();
  readonly log = new QuietLog();
  readonly processes = new FakeProcesses();
  readonly files = new MemoryFiles({ "/models/x": "" });
  /** By program: what it prints, or null to hang. */
  readonly prints = new Map<string, string | null>();
  readonly spawned = new Map<string, number>();
  busy = true;

  constructor() {
    this.processes.onSpawn = (child) => {
      const program = child.options.command[0] ?? "";
      this.spawned.set(program, (this.spawned.get(program) ?? 0) + 1);
      const text = this.prints.get(program);
      if (text === null) return;
      if (text === undefined) {
        queueMicrotask(() => child.exit(127));
        return;
      }
      queueMicrotask(() => {
        child.complain("");
        child.print(text);
        child.exit(0);
      });
    };
  }

  write(path: string, text: string): Promise<void> {
    return this.files.makeFolder(path.slice(0, path.lastIndexOf("/")), 0o755)
      .then(() => this.files.writeAtomic(path, text, 0o644));
  }

  watch(options: Partial<SensorsOptions> = {}): Sensors {
    return createSensors({
      files: this.files,
      processes: this.processes,
      clock: this.clock,
      log: this.log,
      platform: "linux",
      path: "/usr/bin",
      modelsDir: "/models",
      onBattery: "local",
      computesHere: () => true,
      ownPids: () => [],
      isBusy: () => this.busy,
      ...options,
    });
  }
}

function statOf(busy: number, idle: number): string {
  return `cpu  ${busy} 0 0 ${idle} 0 0 0 0 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nintr 1\n`;
}

Deno.test("createSensors knows nothing where there is nothing, and stays quiet", async () => {
  const machine = new PlayedMachine();
  await using sensors = machine.watch();
  await machine.clock.advance(1_260_000);
  assert.ok(Object.values(sensors.reading()).every((value) => value === null));
  assert.equal(sensors.factor(), 1);
  assert.equal(sensors.conditions().ok, true);
  assert.equal(sensors.served().kind, "everyone");
  assert.deepEqual(machine.log.lines, []);
  // Three tries, then one each ten minutes.
  assert.ok((machine.spawned.get("nvidia-smi") ?? 0) <= 3 + 2);
  const metrics = createMetrics({
    log: machine.log,
    version: "0",
    startedAtSeconds: 0,
    residentBytes: () => 1,
  });
  registerMachineMetrics(metrics, sensors);
  const page = await metrics.render();
  assert.doesNotMatch(page, /^covey_machine_temperature_celsius/m);
  assert.match(page, /^covey_machine_speed_ratio 1$/m);
});

Deno.test("createSensors tells other programs' load from its own engines'", async () => {
  const machine = new PlayedMachine();
  const own = (ticks: number) =>
    `9 (covey) S 1 1 1 0 -1 0 0 0 0 0 ${ticks} 0 0 0 20 0 9 0`;
  await machine.write("/proc/stat", statOf(0, 0));
  await machine.write("/proc/loadavg", "5.00 1 1 1/9 9\n");
  await machine.write("/proc/9/stat", own(0));
  await using sensors = machine.watch({ ownPids: () => [9] });
  for (let at = 1; at <= 60; at++) {
    await machine.clock.advance(2000);
    await machine.write("/proc/stat", statOf(400 * at, 0));
    await machine.write("/proc/9/stat", own(100 * at));
  }
  const reading = sensors.reading();
  assert.equal(reading.busyThreads, 2);
  assert.equal(reading.ownBusyThreads, 0.5);
  assert.deepEqual(sensors.effects().map(({ condition }) => condition), [
    "cpu_contended",
  ]);
  assert.deepEqual(sensors.conditions(), {
    ok: false,
    reasons: [
      `is busy with other work: load ${
        (5 - (reading.ownLoad1 ?? 0)).toFixed(1)
      } on 2 processors`,
    ],
  });
});

Deno.test("HW-03 createSensors reports a container's memory, not the host's", async () => {
  for (
    const group of [
      {
        "/proc/self/cgroup": "0::/\n",
        "/sys/fs/cgroup/memory.max": `${2 * GIB}\n`,
        "/sys/fs/cgroup/memory.current": `${GIB}\n`,
        "/sys/fs/cgroup/memory.stat": `inactive_file ${GIB / 2}\n`,
      },
      {
        "/proc/self/cgroup": "4:memory:/docker/abc\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": `${2 * GIB}\n`,
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": `${GIB}\n`,
        "/sys/fs/cgroup/memory/memory.stat": `total_active_file ${GIB / 2}\n`,
      },
    ]
  ) {
    const machine = new PlayedMachine();
    await machine.write(
      "/proc/meminfo",
      `MemTotal: ${64 * 2 ** 20} kB\nMemFree: 1 kB\nMemAvailable: ${
        60 * 2 ** 20
      } kB\n`,
    );
    await machine.write("/proc/pressure/memory", PSI_CALM);
    for (const [path, text] of Object.entries(group)) {
      await machine.write(path, text);
    }
    await using sensors = machine.watch();
    await machine.clock.advance(1100);
    assert.equal(sensors.reading().memoryTotalBytes, 2 * GIB);
    assert.equal(sensors.reading().memoryAvailableBytes, 1.5 * GIB);
    assert.equal(sensors.reading().memoryPressure, "normal");
    assert.equal(await sensors.containerFreeBytes(), 1.5 * GIB);
  }
});

Deno.test("HW-03 createSensors reports the host's memory where nothing limits", async () => {
  const machine = new PlayedMachine();
  await machine.write(
    "/proc/meminfo",
    "MemTotal: 1000 kB\nMemAvailable: 600 kB\n",
  );
  await machine.write("/sys/fs/cgroup/memory.max", "max\n");
  await machine.write(
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "9223372036854771712\n",
  );
  await using sensors = machine.watch();
  await machine.clock.advance(1100);
  assert.equal(sensors.reading().memoryTotalBytes, 1_024_000);
  assert.equal(await sensors.containerFreeBytes(), Infinity);
});

Deno.test("createSensors keeps peers out on battery as the operator said", async () => {
  const uevent = (status: string) =>
    `POWER_SUPPLY_TYPE=Battery\nPOWER_SUPPLY_STATUS=${status}\n`;
  for (
    const [onBattery, served] of [
      ["local", "own_clients"],
      ["serve", "everyone"],
      ["off", "nobody"],
    ] as const
  ) {
    const machine = new PlayedMachine();
    const path = "/sys/class/power_supply/BAT0/uevent";
    await machine.write(path, uevent("Discharging"));
    await using sensors = machine.watch({ onBattery });
    await machine.clock.advance(3000);
    assert.equal(sensors.served().kind, served);
    assert.equal(sensors.factor(), 0.9);
    await machine.write(path, uevent("Charging"));
    await machine.clock.advance(11_000);
    assert.equal(sensors.served().kind, "everyone");
    assert.equal(sensors.factor(), 1);
  }
});

Deno.test("createSensors degrades a machine only when share and bytes of its disk are short", async () => {
  const df = (total: number, free: number) =>
    `Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 ${total} 1 ${free} 99% /\n`;
  for (
    const [total, free, ok] of [
      [4_000_000_000, 100_000_000, true],
      [100_000_000, 9_000_000, false],
      [100_000_000, 15_000_000, true],
    ] as const
  ) {
    const machine = new PlayedMachine();
    machine.prints.set("df", df(total, free));
    await using sensors = machine.watch();
    await machine.clock.advance(3000);
    assert.equal(sensors.conditions().ok, ok, `${free} of ${total}`);
    assert.equal(sensors.reading().diskFreeBytes, free * 1024);
  }
});

Deno.test("HW-04 a program that hangs is killed and keeps nothing waiting", async () => {
  const machine = new PlayedMachine();
  machine.prints.set("vcgencmd", null);
  await machine.write("/sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
  await machine.write("/sys/class/thermal/thermal_zone0/temp", "51000\n");
  await using sensors = machine.watch();
  await machine.clock.advance(5000);
  const [hung] = machine.processes.children.filter(({ options }) =>
    options.command[0] === "vcgencmd"
  );
  assert.deepEqual(hung?.signals, ["SIGKILL"]);
  assert.equal(sensors.reading().temperatureCelsius, 51);
  await machine.write("/sys/class/thermal/thermal_zone0/temp", "0\n");
  await machine.clock.advance(2100);
  assert.equal(sensors.reading().temperatureCelsius, null);
  await machine.clock.advance(1_260_000);
  assert.ok((machine.spawned.get("vcgencmd") ?? 0) <= 3 + 2);
  assert.deepEqual(machine.log.lines, []);
});

Deno.test("HW-01 createSensors tells a Pi's temperature as the kernel has it, or the firmware where the kernel has none, and never 0 or below", async () => {
  const zone = "/sys/class/thermal/thermal_zone0";
  for (
    const [kernel, firmware, expected] of [
      ["51000\n", "56.3", 51],
      [null, "56.3", 56.3],
      ["0\n", "56.3", 56.3],
      ["-1\n", "0.0", null],
      [null, "-1", null],
      [null, "", null],
    ] as const
  ) {
    const machine = new PlayedMachine();
    // The firmware's program prints one thing for each question here.
    machine.processes.onSpawn = (child) => {
      const [program, question] = child.options.command;
      queueMicrotask(() => {
        if (program === "vcgencmd") {
          child.print(
            question === "measure_temp"
              ? `temp=${firmware}'C\n`
              : "throttled=0x0\n",
          );
          child.exit(0);
        } else child.exit(program === "sensors" ? 0 : 127);
      });
    };
    if (kernel !== null) {
      await machine.write(`${zone}/type`, "cpu-thermal\n");
      await machine.write(`${zone}/temp`, kernel);
    }
    await using sensors = machine.watch();
    await machine.clock.advance(12_000);
    const what = `kernel ${kernel}, firmware ${firmware}`;
    assert.equal(sensors.reading().temperatureCelsius, expected, what);
    assert.equal(sensors.factor(), 1, what);
    assert.deepEqual(machine.log.lines, [], what);
  }
});

Deno.test("HW-04 createSensors asks for no password on a Mac, and takes what its programs can not tell for unknown", async () => {
  for (
    const text of [
      "usage: powermetrics must be invoked as the superuser",
      "Password:",
      "P0-Cluster Online: 100%\nP1-Cluster Online: 100%\n",
      "<?xml version='1.0'?><plist>\0<dict/></plist>\0",
      null,
    ]
  ) {
    const machine = new PlayedMachine();
    const programs = ["pmset", "sysctl", "vm_stat", "ps", "df"];
    for (const program of programs) machine.prints.set(program, text);
    {
      await using sensors = machine.watch({ platform: "darwin" });
      await machine.clock.advance(120_000);
      const { cpuCount: _known, ...reading } = sensors.reading();
      assert.deepEqual(
        Object.entries(reading).filter(([, value]) => value !== null),
        [],
        `${text}`,
      );
      assert.equal(sensors.factor(), 1);
      assert.equal(sensors.served().kind, "everyone");
    }
    // What hung was killed; nothing is left behind, and root was not asked for.
    for (const { options, signals } of machine.processes.children) {
      const [program = ""] = options.command;
      assert(programs.includes(program), program);
      if (text === null) assert.deepEqual(signals, ["SIGKILL"], program);
    }
    assert.deepEqual(machine.log.lines, []);
  }
});

Deno.test("an idle node looks at its machine each 10 s, a busy one each 2 s", async () => {
  const machine = new PlayedMachine();
  let reads = 0;
  await machine.write("/proc/loadavg", "0 0 0\n");
  await machine.write("/proc/stat", statOf(0, 0));
  const files = {
    list: (path: string) => machine.files.list(path),
    stat: (path: string) => machine.files.stat(path),
    readText(path: string) {
      if (path === "/proc/loadavg") reads++;
      return machine.files.readText(path);
    },
  };
  await using _sensors = machine.watch({ files });
  await machine.clock.advance(59_000);
  assert.equal(reads, 30);
  machine.busy = false;
  await machine.clock.advance(70_000);
  reads = 0;
  await machine.clock.advance(100_000);
  assert.equal(reads, 10);
});

Deno.test({
  name: "HW-04 createHostReader bounds real programs and gives them no input",
  ignore: Deno.build.os === "windows",
  async fn() {
    const reader = createHostReader({
      files: new MemoryFiles(),
      processes: createDenoProcesses(["covey"]),
      clock: createSystemClock(),
      path: "/usr/bin:/bin",
    });
    const { signal } = new AbortController();
    assert.equal(await reader.run(["echo", "temp=1"], signal), "temp=1\n");
    assert.equal(await reader.run(["yes"], signal), null);
    assert.equal(await reader.run(["false"], signal), null);
    assert.equal(await reader.run(["covey-no-such-program"], signal), null);
    // Whoever asks for a password meets the end of its input.
    assert.equal(await reader.run(["cat"], signal), "");
    const env = await reader.run(["env"], signal);
    assert.deepEqual(env?.trim().split("\n").sort(), [
      "LC_ALL=C",
      "PATH=/usr/bin:/bin",
    ]);
  },
});
