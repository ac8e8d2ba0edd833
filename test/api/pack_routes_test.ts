import assert from "node:assert/strict";
import { Fault, type PackCare, type PackView } from "../../src/domain/mod.ts";
import { apiUnderTest, LAN, operatorOf } from "./api_under_test.ts";

const PACK: PackView = {
  name: "vulkan",
  cards: "most cards",
  state: "available",
  sizeBytes: 27,
};

function packsUnderTest() {
  const asked: (readonly [string, string | null])[] = [];
  const packs: PackCare = {
    list: () => Promise.resolve([{ ...PACK, members: ["anna"] }]),
    add(name, from, tell) {
      asked.push([name, from]);
      if (from === "carol") {
        return Promise.reject(new Fault("not_found", "No member is carol"));
      }
      // The second says nothing new within a quarter of a second.
      tell(10, 27, "ben");
      tell(20, 27, "ben");
      tell(20, 27, "anna");
      return Promise.resolve({
        pack: { ...PACK, state: "installed" },
        from: "anna",
      });
    },
  };
  const { api } = apiUnderTest({ packs });
  return { asked, send: operatorOf(api) };
}

Deno.test("GET /covey/packs lists packs with the members that have them", async () => {
  const { send } = packsUnderTest();
  const response = await send("GET", "/covey/packs");
  assert.deepEqual(await response.json(), {
    packs: [{ ...PACK, members: ["anna"] }],
  });
});

Deno.test("POST /covey/packs/{name} tells of its progress line by line, then who gave it", async () => {
  const { asked, send } = packsUnderTest();
  const response = await send("POST", "/covey/packs/vulkan", { from: "anna" });
  assert.equal(response.status, 200);
  const lines = (await response.text()).trim().split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(lines, [
    { status: "fetching", doneBytes: 10, totalBytes: 27, member: "ben" },
    { status: "fetching", doneBytes: 20, totalBytes: 27, member: "anna" },
    { status: "success", ...PACK, state: "installed", from: "anna" },
  ]);
  assert.deepEqual(asked, [["vulkan", "anna"]]);
});

Deno.test("POST /covey/packs/{name} says why there was none", async () => {
  const { asked, send } = packsUnderTest();
  const response = await send("POST", "/covey/packs/cuda", { from: "carol" });
  assert.deepEqual(JSON.parse(await response.text()), {
    error: "No member is carol",
    code: "not_found",
  });
  const wrong = await send("POST", "/covey/packs/cuda", { from: 7 });
  assert.equal(wrong.status, 400);
  await send("POST", "/covey/packs/cuda", {});
  assert.deepEqual(asked, [["cuda", "carol"], ["cuda", null]]);
});

Deno.test("engine packs are an operator's business", async () => {
  const { asked, send } = packsUnderTest();
  const response = await send("POST", "/covey/packs/vulkan", {}, LAN);
  assert.ok([401, 403].includes(response.status));
  assert.deepEqual(asked, []);
});
