import assert from "node:assert/strict";
import { Fault, type ModelImports } from "../../src/domain/mod.ts";
import { apiUnderTest, LAN, LOOPBACK, post } from "./api_under_test.ts";

Deno.test("an import answers with what was taken over, and is nothing for the LAN", async () => {
  const folders: string[] = [];
  const imports: ModelImports = {
    importFolder(folder) {
      folders.push(folder);
      if (folder === "x") {
        return Promise.reject(new Fault("invalid_request", "No path"));
      }
      return Promise.resolve({
        imported: [{ model: "m", shared: true }],
        skipped: [],
      });
    },
    importFound: () =>
      Promise.resolve({ imported: [], skipped: [], programs: ["Ollama"] }),
  };
  const { api } = apiUnderTest({ imports });
  const send = (body: unknown, from = LOOPBACK) =>
    api.handle(post("/covey/imports", body), from);
  assert.deepEqual(await (await send({ folder: "/srv" })).json(), {
    status: "success",
    imported: [{ model: "m", shared: true }],
    skipped: [],
  });
  assert.deepEqual(await (await send({ found: true })).json(), {
    status: "success",
    imported: [],
    skipped: [],
    programs: ["Ollama"],
  });
  assert.deepEqual(await (await send({ folder: "x" })).json(), {
    error: "No path",
    code: "invalid_request",
  });
  for (
    const [body, from, status] of [
      [{}, LOOPBACK, 400],
      [{ found: "yes" }, LOOPBACK, 400],
      [{ found: true }, LAN, 401],
      [{ folder: "/srv" }, LAN, 401],
    ] as const
  ) {
    const refused = await send(body, from);
    assert.equal(refused.status, status);
    await refused.body?.cancel();
  }
  assert.deepEqual(folders, ["/srv", "x"]);
});
