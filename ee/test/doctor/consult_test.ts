import assert from "node:assert/strict";
import {
  createSeededEntropy,
  ManualClock,
  MemoryFiles,
} from "@covey/core/platform";
import { consult } from "../../src/doctor/consult.ts";
import type { Platform } from "@covey/core/platform";

Deno.test("consult passes on what the machine's owner should do, and judges who reaches the node's API", async () => {
  const platform: Platform = {
    clock: new ManualClock(),
    entropy: createSeededEntropy(1),
    files: new MemoryFiles({
      "/proc/self/limits": "Max open files 65536 65536 files\n",
    }),
    processes: {
      self: [],
      spawn: () => assert.fail("Nothing is started"),
    },
  };
  const report = await consult(
    { state: "none" },
    platform,
    {
      advice: ["This machine has an AMD GPU; `covey engine add vulkan`"],
      exposure: { hosts: ["172.17.0.1"], openTo: [], hasTls: false },
    },
    new AbortController().signal,
  );
  assert.match(JSON.stringify(report), /engine add vulkan/);
  assert.match(JSON.stringify(report), /"API".*no TLS on 172\.17\.0\.1/);
});
