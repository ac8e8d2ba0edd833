import assert from "node:assert/strict";
import {
  createDenoFiles,
  FileError,
  type Files,
  MemoryFiles,
} from "../../src/platform/mod.ts";

/** Run the same expectations against the real file system and the one in memory. */
function contract(
  name: string,
  check: (files: Files, folder: string) => Promise<void>,
): void {
  Deno.test(`Files ${name} (disk)`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "covey-files-" });
    let n = 0;
    try {
      await check(createDenoFiles(() => String(n++)), folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
  Deno.test(`Files ${name} (memory)`, async () => {
    const files = new MemoryFiles();
    await files.makeFolder("/srv", 0o700);
    await check(files, "/srv");
  });
}

contract("reads what was written and lists it", async (files, folder) => {
  await files.makeFolder(`${folder}/a/b`, 0o700);
  await files.writeAtomic(`${folder}/a/one`, "1", 0o600);
  await files.writeAtomic(`${folder}/a/one`, "22", 0o600);
  assert.equal(await files.readText(`${folder}/a/one`), "22");
  assert.deepEqual(await files.list(`${folder}/a`), [
    { name: "b", kind: "folder" },
    { name: "one", kind: "file" },
  ]);
  assert.equal((await files.stat(`${folder}/a/one`)).sizeBytes, 2);
});

contract(
  "reads a part of an open file, short at its end",
  async (files, folder) => {
    await files.writeAtomic(`${folder}/f`, "abcdef", 0o600);
    using file = await files.open(`${folder}/f`);
    const text = new TextDecoder();
    assert.equal(text.decode(await file.read(2, 3)), "cde");
    assert.equal(text.decode(await file.read(4, 10)), "ef");
    assert.equal((await file.read(99, 1)).length, 0);
    const buffer = new Uint8Array(3);
    assert.equal(await file.readInto(1, buffer), 3);
    assert.equal(text.decode(buffer), "bcd");
    assert.equal(await file.readInto(5, buffer), 1);
    assert.equal(text.decode(buffer), "fcd");
    assert.equal(await file.readInto(99, buffer), 0);
  },
);

contract(
  "says that a file is missing, with its path",
  async (files, folder) => {
    const path = `${folder}/none`;
    for (
      const act of [
        () => files.readText(path),
        () => files.stat(path),
        () => files.open(path),
        () => files.rename(path, `${path}2`),
        () => files.list(path),
      ]
    ) {
      await assert.rejects(act, (error) => {
        assert.ok(error instanceof FileError);
        assert.equal(error.problem, "missing");
        assert.ok(error.message.includes(path));
        return true;
      });
    }
    await files.remove(path);
  },
);

contract("removes a folder with all in it", async (files, folder) => {
  await files.makeFolder(`${folder}/x/y`, 0o700);
  await files.writeAtomic(`${folder}/x/y/z`, "z", 0o600);
  await files.remove(`${folder}/x`);
  await assert.rejects(() => files.readText(`${folder}/x/y/z`), FileError);
  assert.deepEqual(await files.list(folder), []);
});

contract(
  "removes an empty folder, and neither a file nor what holds something",
  async (files, folder) => {
    await files.makeFolder(`${folder}/x/y`, 0o700);
    await files.writeAtomic(`${folder}/f`, "f", 0o600);
    for (const name of ["x", "f", "none"]) {
      assert.equal(await files.removeEmptyFolder(`${folder}/${name}`), false);
    }
    assert.equal(await files.removeEmptyFolder(`${folder}/x/y`), true);
    assert.deepEqual(await files.list(`${folder}/x`), []);
    assert.equal(await files.readText(`${folder}/f`), "f");
  },
);

Deno.test("removeEmptyFolder leaves a link to an empty folder", async () => {
  const folder = await Deno.makeTempDir({ prefix: "covey-files-" });
  try {
    await Deno.mkdir(`${folder}/real`);
    await Deno.symlink(`${folder}/real`, `${folder}/link`);
    const files = createDenoFiles(() => "0");
    assert.equal(await files.removeEmptyFolder(`${folder}/link`), false);
    assert.equal((await files.list(folder)).length, 2);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("writeAtomic leaves no temporary file and sets the mode", async () => {
  const folder = await Deno.makeTempDir({ prefix: "covey-files-" });
  try {
    const files = createDenoFiles(() => "t");
    await files.writeAtomic(`${folder}/secret`, "s", 0o600);
    const { mode } = await Deno.stat(`${folder}/secret`);
    assert.equal((mode ?? 0) & 0o777, 0o600);
    await assert.rejects(
      () => files.writeAtomic(`${folder}/no/where`, "s", 0o600),
      FileError,
    );
    assert.deepEqual((await files.list(folder)).map(({ name }) => name), [
      "secret",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("lock holds a file for one holder at a time, in memory and on disk", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const worlds = [
      [new MemoryFiles({ "/x/a": "" }), "/x/lock"],
      [createDenoFiles(() => "x"), `${folder}/lock`],
    ] as const;
    for (const [files, path] of worlds) {
      {
        using held = await files.lock(path);
        assert.ok(held);
        assert.equal(await files.lock(path), null);
      }
      using again = await files.lock(path);
      assert.ok(again);
      await assert.rejects(files.lock("/nowhere/at/all"), FileError);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

contract(
  "writes at any place, several at once, and keeps the rest",
  async (files, folder) => {
    const path = `${folder}/parts`;
    {
      using file = await files.openForWriting(path, 0o600);
      await Promise.all([
        file.write(3, new Uint8Array([4, 5])),
        file.write(0, new Uint8Array([1])),
        file.write(1, new Uint8Array([2, 3])),
      ]);
      await file.sync();
    }
    using again = await files.openForWriting(path, 0o600);
    await again.write(4, new Uint8Array([9]));
    assert.deepEqual([...await files.readBytes(path)], [1, 2, 3, 4, 9]);
  },
);

contract(
  "gives a file a second path that outlives the first, over nothing",
  async (files, folder) => {
    await files.writeAtomic(`${folder}/one`, "1", 0o600);
    assert.equal(await files.link(`${folder}/one`, `${folder}/two`), "linked");
    await files.remove(`${folder}/one`);
    assert.equal(await files.readText(`${folder}/two`), "1");
    await files.writeAtomic(`${folder}/one`, "new", 0o600);
    for (
      const [from, to, problem] of [
        ["one", "two", "exists"],
        ["none", "three", "missing"],
      ] as const
    ) {
      await assert.rejects(
        files.link(`${folder}/${from}`, `${folder}/${to}`),
        (error) => error instanceof FileError && error.problem === problem,
      );
    }
    assert.equal(await files.readText(`${folder}/two`), "1");
  },
);

Deno.test("createDenoFiles tells a folder where a file is needed, and the other way round", async () => {
  const folder = await Deno.makeTempDir({ prefix: "covey-files-" });
  try {
    const files = createDenoFiles(() => "t");
    await files.writeAtomic(`${folder}/file`, "x", 0o600);
    const failing: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
      [() => files.readText(folder), /: it is a folder$/],
      [
        () => files.readText(`${folder}/file/inner`),
        /: a part of the path is no folder$/,
      ],
      [
        () => files.list(`${folder}/file`),
        /: a part of the path is no folder$/,
      ],
    ];
    for (const [act, message] of failing) {
      await assert.rejects(
        act,
        (error) => error instanceof FileError && message.test(error.message),
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
