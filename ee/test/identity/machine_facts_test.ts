import assert from "node:assert/strict";
import { MemoryFiles } from "@covey/core/platform";
import {
  machineChange,
  type MachineFacts,
  machineTag,
  markMachine,
  readMachineFacts,
} from "../../src/identity/machine_facts.ts";

const KEY = "0".repeat(64);
const PI: MachineFacts = {
  board: "10000000a1b2c3d4",
  machineId: "3d1219c7c4c5404aaa1f6d2a48adfda4",
  macs: ["dc:a6:32:00:00:01", "dc:a6:32:00:00:02"],
};

Deno.test("readMachineFacts takes serial numbers and burnt-in addresses, and no placeholders", async () => {
  const files = new MemoryFiles({
    "/sys/firmware/devicetree/base/serial-number": "10000000a1b2c3d4\0",
    "/etc/machine-id": `${PI.machineId}\n`,
  });
  const macs = [
    "00:00:00:00:00:00",
    "DC:A6:32:00:00:02",
    "02:42:ac:11:00:02",
    "dc:a6:32:00:00:01",
    "dc:a6:32:00:00:01",
    "nonsense",
  ].map((mac) => ({ mac }));
  assert.deepEqual(await readMachineFacts(files, () => macs), PI);
  for (
    const text of [
      "None",
      "To Be Filled By O.E.M.",
      "0000000",
      "Default string",
    ]
  ) {
    const maker = new MemoryFiles({ "/sys/class/dmi/id/board_serial": text });
    assert.equal((await readMachineFacts(maker, () => [])).board, null, text);
  }
  assert.deepEqual(await readMachineFacts(new MemoryFiles(), () => []), {
    board: null,
    machineId: null,
    macs: [],
  });
});

Deno.test("machineTag means nothing in another cluster and shows no serial number", () => {
  const tag = machineTag(PI, "cluster-1");
  assert.match(tag ?? "", /^[0-9a-f]{32}$/);
  assert.equal(machineTag({ ...PI, macs: [] }, "cluster-1"), tag);
  assert.notEqual(machineTag(PI, "cluster-2"), tag);
  assert.notEqual(machineTag({ ...PI, board: null }, "cluster-1"), tag);
  const unknown = { board: null, machineId: null, macs: PI.macs };
  assert.equal(machineTag(unknown, "cluster-1"), undefined);
});

Deno.test("machineChange goes by the board, else by network devices of which one may be new (IDN-01)", () => {
  const change = (before: MachineFacts, now: MachineFacts) =>
    machineChange(markMachine(before, KEY), markMachine(now, KEY));
  assert.equal(change(PI, PI), null);
  assert.equal(change(PI, { ...PI, macs: [] }), null);
  assert.equal(change(PI, { ...PI, board: "x1" }), "board serial number");
  const noBoard = { ...PI, board: null };
  assert.equal(change(PI, noBoard), null);
  const [first = ""] = PI.macs;
  assert.equal(
    change(noBoard, { ...PI, macs: [first, "dc:a6:32:0:0:9"] }),
    null,
  );
  assert.equal(
    change(noBoard, { ...noBoard, macs: ["b8:27:eb:00:00:01"] }),
    "network devices",
  );
  // A container or a start by another user may see nothing: that is no change.
  assert.equal(change(noBoard, { ...noBoard, macs: [] }), null);
});
