import assert from "node:assert/strict";
import { adviseOnPacks } from "../../../src/engines/packs/pack_advice.ts";
import { MemoryFiles } from "../../../src/platform/mod.ts";
import { findGpus } from "../../../src/sensors/seen_gpus.ts";

const BOTH = [
  { name: "vulkan", state: "available" },
  { name: "cuda", state: "available" },
] as const;

Deno.test("adviseOnPacks names the command for a GPU that is seen and not used", () => {
  assert.match(adviseOnPacks(["nvidia"], BOTH) ?? "", /covey engine add cuda/);
  assert.match(adviseOnPacks(["amd"], BOTH) ?? "", /covey engine add vulkan/);
  assert.match(adviseOnPacks(["intel"], BOTH) ?? "", /add vulkan/);
});

Deno.test("adviseOnPacks is silent without a GPU, with a pack, and where there is none to add", () => {
  assert.equal(adviseOnPacks([], BOTH), null);
  const [vulkan, cuda] = BOTH;
  const installed = { ...vulkan, state: "installed" } as const;
  assert.equal(adviseOnPacks(["nvidia"], [installed, cuda]), null);
  const elsewhere = BOTH.map(({ name }) =>
    ({ name, state: "other_machine" }) as const
  );
  assert.equal(adviseOnPacks(["nvidia"], elsewhere), null);
});

Deno.test("findGpus tells cards that compute from screens of virtual machines", async () => {
  const vendors: Record<string, string> = {
    card0: "0x1234\n",
    card1: "0x10DE\n",
    card2: "0x10de\n",
    card3: "0x1002\n",
  };
  const files = new MemoryFiles(
    Object.fromEntries(
      Object.entries(vendors).map(([card, vendor]) => [
        `/sys/class/drm/${card}/device/vendor`,
        vendor,
      ]),
    ),
  );
  const found = await findGpus(files);
  assert.deepEqual(found, ["nvidia", "amd"]);
});

Deno.test("findGpus finds none where the machine does not say", async () => {
  assert.deepEqual(await findGpus(new MemoryFiles({ "/x": "" })), []);
});
