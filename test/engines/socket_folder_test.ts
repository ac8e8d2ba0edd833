import assert from "node:assert/strict";
import { makeSocketFolder } from "../../src/engines/embedded/socket_folder.ts";
import { createSeededEntropy, MemoryFiles } from "../../src/platform/mod.ts";

const PARENT = "/data/run";

Deno.test("makeSocketFolder removes what nodes that were killed left in the data folder, and nothing else", async () => {
  const files = new MemoryFiles();
  const leave = async (folder: string) => {
    await files.makeFolder(folder, 0o700);
    await files.writeAtomic(`${folder}/1.sock`, "", 0o600);
  };
  await leave(`${PARENT}/covey-00112233445566ff`);
  await leave(`${PARENT}/covey-0011223344556677`);
  await leave(`${PARENT}/covey-notes`);
  await leave("/tmp/covey-0011223344556677");
  const folder = await makeSocketFolder({
    files,
    entropy: createSeededEntropy(1),
    runtimeDir: PARENT,
    temporaryDir: "/tmp",
  });
  const kept = (await files.list(PARENT)).map(({ name }) =>
    `${PARENT}/${name}`
  );
  assert.deepEqual(
    kept.toSorted(),
    [folder.path, `${PARENT}/covey-notes`].toSorted(),
  );
  assert.equal((await files.list("/tmp")).length, 1);
});
