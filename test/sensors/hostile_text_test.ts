import assert from "node:assert/strict";
import fc from "fast-check";
import {
  parseBusyPercent,
  parseVideoMemory,
} from "../../src/sensors/amd_gpu.ts";
import {
  parseGroupPaths,
  parseLimit,
  parseReclaimable,
} from "../../src/sensors/cgroup_memory.ts";
import { judgeClocks } from "../../src/sensors/cpu_clock.ts";
import {
  parseCpuTimes,
  parseLoad1,
  parseProcessTicks,
} from "../../src/sensors/cpu_times.ts";
import { parseDiskBusyMs } from "../../src/sensors/disk_activity.ts";
import { parseDf } from "../../src/sensors/disk_space.ts";
import {
  parsePsCpu,
  parseSysctl,
  parseVmStat,
} from "../../src/sensors/mac_load.ts";
import {
  parseBatt,
  parseLowPower,
  parseTherm,
} from "../../src/sensors/mac_power.ts";
import { parseMeminfo, parsePressure } from "../../src/sensors/memory.ts";
import { parseCards, parseComputePids } from "../../src/sensors/nvidia.ts";
import {
  parseFirmwareTemperature,
  parseThrottled,
} from "../../src/sensors/pi_firmware.ts";
import { judgeSupplies } from "../../src/sensors/power_supply.ts";
import { judgeZones } from "../../src/sensors/thermal_zones.ts";

/** What commands and files were seen to say when they had nothing to say. */
const HOSTILE = [
  "",
  "\n",
  "\0",
  "0x",
  "-1",
  "-1\n-1\n-1",
  "N/A",
  "[N/A]",
  "[Not Supported]",
  "nan",
  "inf",
  "1e999",
  "usage: powermetrics must be invoked as the superuser",
  "Password:",
  "P0-Cluster Online: 100%\nP1-Cluster Online: 100%\n",
  "<?xml version='1.0'?><plist>\0<dict/></plist>\0",
  "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
  "\uFFFD".repeat(100),
  "9".repeat(10_000),
];

const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  parseBusyPercent,
  parseVideoMemory: (text) => parseVideoMemory(text, text),
  parseLimit,
  parseCpuTimes,
  parseLoad1,
  parseProcessTicks,
  parseDiskBusyMs: (text) => parseDiskBusyMs(text, 0xfe00),
  parseDf,
  parseSysctl,
  parseVmStat,
  parsePsCpu: (text) => parsePsCpu(text),
  parseBatt,
  parseLowPower,
  parseTherm,
  parseMeminfo,
  parsePressure,
  parseCards,
  parseFirmwareTemperature,
  parseThrottled,
  judgeSupplies: (text) => judgeSupplies([text]),
  judgeZones: (text) =>
    judgeZones([{ type: text, passiveCelsius: null, temperature: text }]),
  judgeClocks: (text) =>
    judgeClocks([{ hardware: text, ceiling: text, current: text }]),
};

for (const [name, parse] of Object.entries(PARSERS)) {
  Deno.test(`HW-01 HW-04 ${name} knows nothing from hostile text`, () => {
    for (const text of HOSTILE) {
      assert.equal(parse(text), null, JSON.stringify(text.slice(0, 60)));
    }
  });

  Deno.test(`${name} takes any text without throwing`, () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
      parse(text);
    }));
  });
}

Deno.test("HW-01 judgeZones leaves out zones of zero and below when others are sound", () => {
  const zone = (type: string, temperature: string, passive: number | null) => ({
    type,
    temperature,
    passiveCelsius: passive,
  });
  assert.deepEqual(
    judgeZones([
      zone("cpu-thermal", "0\n", 80),
      zone("cpu-thermal", "-274000\n", null),
    ]),
    null,
  );
  assert.deepEqual(
    judgeZones([
      zone("acpitz", "99000\n", null),
      zone("x86_pkg_temp", "61500\n", null),
      zone("cpu-thermal", "-1\n", 80),
    ]),
    { temperatureCelsius: 61.5, isThrottled: null },
  );
  assert.equal(
    judgeZones([zone("cpu-thermal", "85000\n", 80)])?.isThrottled,
    true,
  );
});

Deno.test("parseThrottled tells now from earlier", () => {
  assert.deepEqual(parseThrottled("throttled=0x50000\n"), {
    isThrottled: false,
    isPowerCapped: false,
  });
  assert.deepEqual(parseThrottled("throttled=0x50005\n"), {
    isThrottled: true,
    isPowerCapped: true,
  });
  assert.equal(parseFirmwareTemperature("temp=48.3'C\n"), 48.3);
  assert.equal(parseFirmwareTemperature("temp=0.0'C\n"), null);
});

Deno.test("judgeClocks calls a lowered ceiling a cap and a slow idle clock none", () => {
  const policy = (ceiling: string, current: string) => ({
    hardware: "2400000\n",
    ceiling,
    current,
  });
  assert.equal(
    judgeClocks([policy("2400000\n", "600000\n")])?.isPowerCapped,
    false,
  );
  const capped = judgeClocks([policy("1500000\n", "1500000\n")]);
  assert.deepEqual(capped, { clockShare: 0.625, isPowerCapped: true });
});

Deno.test("judgeSupplies ignores the battery of a mouse and believes the mains", () => {
  const mouse =
    "POWER_SUPPLY_TYPE=Battery\nPOWER_SUPPLY_SCOPE=Device\nPOWER_SUPPLY_STATUS=Discharging\n";
  const battery =
    "POWER_SUPPLY_TYPE=Battery\nPOWER_SUPPLY_STATUS=Discharging\nPOWER_SUPPLY_CAPACITY=73\n";
  const mains = (online: string) =>
    `POWER_SUPPLY_TYPE=Mains\nPOWER_SUPPLY_ONLINE=${online}\n`;
  assert.equal(judgeSupplies([mouse]), null);
  assert.deepEqual(judgeSupplies([mouse, battery, mains("0")]), {
    isOnBattery: true,
    batteryShare: 0.73,
  });
  assert.equal(judgeSupplies([battery, mains("1")])?.isOnBattery, false);
});

Deno.test("parseCards reads several cards and half of what one says", () => {
  assert.deepEqual(
    parseCards(
      "250.00, 350.00, 0x0000000000000004, 97, 71, 24564, 1024\n[N/A], [N/A], 0x0000000000000040, [N/A], 0, 8192, 8000\n",
    ),
    {
      cardMemoryTotalBytes: (24_564 + 8_192) * 2 ** 20,
      cardMemoryFreeBytes: (1_024 + 8_000) * 2 ** 20,
      isThrottled: true,
      isPowerCapped: true,
      gpuBusyShare: 0.97,
      temperatureCelsius: 71,
    },
  );
  assert.equal(
    parseCards("350.00, 350.00, 0x0000000000000004, 97, 71, 8192, 8000\n")
      ?.isPowerCapped,
    false,
  );
  // Of a card that has no memory of its own, or does not tell, nothing is known.
  const shared = parseCards("[N/A], [N/A], 0x0, 3, 40, [N/A], [N/A]\n");
  assert.equal(shared?.cardMemoryTotalBytes, null);
  assert.equal(shared?.cardMemoryFreeBytes, null);
  const unused = parseCards("350, 350, 0x0, 3, 40, 8192, 8000\n", false);
  assert.equal(unused?.cardMemoryTotalBytes, 0);
  assert.deepEqual(parseComputePids("12\n[N/A]\n-1\n0\n34\n"), [12, 34]);
});

Deno.test("parseVideoMemory knows a card of its own from a processor's", () => {
  const GIB = 2 ** 30;
  const text = (gib: number) => `${gib * GIB}\n`;
  assert.deepEqual(parseVideoMemory(text(16), text(4)), {
    totalBytes: 16 * GIB,
    freeBytes: 12 * GIB,
  });
  assert.deepEqual(parseVideoMemory(text(16), null), {
    totalBytes: 16 * GIB,
    freeBytes: null,
  });
  assert.deepEqual(parseVideoMemory(text(16), text(17))?.freeBytes, null);
  assert.equal(parseVideoMemory(text(0.5), text(0.1)), null);
});

Deno.test("parseProcessTicks reads past a name with brackets and spaces", () => {
  const line = "77 (a) b) (c) S 1 1 1 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0";
  assert.equal(parseProcessTicks(line), 300);
});

Deno.test("HW-03 parseLimit takes `max` and v1's sentinel for none", () => {
  assert.equal(parseLimit("max\n"), null);
  assert.equal(parseLimit("9223372036854771712\n"), null);
  assert.equal(parseLimit("2147483648\n"), 2147483648);
  assert.deepEqual(
    parseGroupPaths("0::/user.slice\n4:memory,cpu:/docker/abc\n7:foo:/../..\n"),
    { v1: "/docker/abc", v2: "/user.slice" },
  );
  assert.equal(
    parseReclaimable("anon 5\ninactive_file 7\nactive_file 2\n", [
      "inactive_file",
      "active_file",
    ]),
    9,
  );
});

Deno.test("parsers of macOS read what its programs print", () => {
  assert.deepEqual(
    parseSysctl(
      "hw.ncpu: 10\nhw.memsize: 17179869184\nvm.loadavg: { 2,15 1.90 1.70 }\nkern.memorystatus_vm_pressure_level: 2\n",
    ),
    {
      cpuCount: 10,
      memoryTotalBytes: 17179869184,
      load1: 2.15,
      memoryPressure: "high",
    },
  );
  assert.equal(
    parseVmStat(
      "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:                               100.\nPages inactive:                           50.\n",
    ),
    150 * 16384,
  );
  assert.equal(parsePsCpu(" 99.5\n  0,5\n"), 1);
  assert.deepEqual(
    parseBatt(
      "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1)\t84%; discharging; 5:01 remaining present: true\n",
    ),
    { isOnBattery: true, batteryShare: 0.84 },
  );
  assert.equal(
    parseTherm("Note: No thermal warning level has been recorded\n"),
    null,
  );
  assert.deepEqual(
    parseTherm(
      "CPU Power notify\n\tCPU_Scheduler_Limit \t= 100\n\tCPU_Available_CPUs \t= 4\n\tCPU_Speed_Limit \t= 60\n",
    ),
    { isThrottled: true },
  );
  assert.equal(parseLowPower(" lowpowermode         1\n"), true);
});

Deno.test("parseDf reads a mount point with spaces", () => {
  assert.deepEqual(
    parseDf(
      "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/my disk 1000 900 100 90% /Volumes/My Disk\n",
    ),
    { diskTotalBytes: 1_024_000, diskFreeBytes: 102_400 },
  );
});
