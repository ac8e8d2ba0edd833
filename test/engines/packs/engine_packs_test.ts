import assert from "node:assert/strict";
import {
  EnginePacks,
  type EnginePacksOptions,
} from "../../../src/engines/packs/engine_packs.ts";
import {
  NpmSource,
  type NpmSourceOptions,
} from "../../../src/engines/packs/npm_source.ts";
import { PackArchives } from "../../../src/engines/packs/pack_archives.ts";
import { PACK_VERSION, PACKS } from "../../../src/engines/packs/pack_table.ts";
import { unpackPackage } from "../../../src/engines/packs/unpack_package.ts";
import { ManualClock, MemoryFiles } from "../../../src/platform/mod.ts";
import { packageOf, SOUND, tarball, X64 } from "../../fakes/made_up_pack.ts";

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Blob([Uint8Array.from(bytes)]).stream();
}

function into(
  files: MemoryFiles,
  folder: string,
  onBytes: (bytes: number) => void = () => {},
) {
  return { files, folder, archive: "/kept.tgz", remedy: "Ask again", onBytes };
}

Deno.test("unpackPackage lays out what was published", async () => {
  const files = new MemoryFiles({});
  const bytes = await tarball(SOUND);
  const told: number[] = [];
  await unpackPackage(
    streamOf(bytes),
    packageOf(bytes),
    into(files, "/packs/new", (done) => told.push(done)),
  );
  assert.equal(
    await files.readText("/packs/new/bins/linux-x64/libggml-vulkan.v0.4.0.so"),
    "code",
  );
  assert.equal(told.at(-1), bytes.length);
  assert.deepEqual(await files.readBytes("/kept.tgz"), bytes);
});

Deno.test("unpackPackage refuses what has another digest, is cut, longer, or no archive", async () => {
  const bytes = await tarball(SOUND);
  const wanted = packageOf(bytes);
  const other = await tarball([...SOUND, { name: "package/more", body: "x" }]);
  const longer = Uint8Array.from([...bytes, 0, 0, 0]);
  const noise = Uint8Array.from({ length: bytes.length }, (_, n) => n % 251);
  const cases = [other, bytes.slice(0, bytes.length / 2), longer, noise];
  for (const spoiled of cases) {
    await assert.rejects(
      unpackPackage(
        streamOf(spoiled),
        wanted,
        into(new MemoryFiles({}), "/packs/new"),
      ),
      /is not what was published.* Ask again$/,
    );
  }
});

Deno.test("unpackPackage writes nothing outside its folder", async () => {
  for (
    const name of [
      "package/../../etc/passwd",
      "package//etc/passwd",
      "package/a/../b",
      "package/.hidden",
      "package/a\\b",
    ]
  ) {
    const files = new MemoryFiles({});
    const bytes = await tarball([{ name, body: "x" }]);
    await assert.rejects(
      unpackPackage(
        streamOf(bytes),
        packageOf(bytes),
        into(files, "/p/new"),
      ),
      /is not what was published/,
      name,
    );
    const left = await files.list("/").catch(() => []);
    assert.deepEqual(left.map(({ name }) => name), ["kept.tgz"], name);
  }
});

function packsOn(
  machine: { readonly os: string; readonly arch: string },
  answer: (url: URL) => Response = () => new Response(null, { status: 404 }),
  changes: Partial<EnginePacksOptions & NpmSourceOptions> = {},
) {
  const asked: string[] = [];
  const files = new MemoryFiles({});
  const clock = new ManualClock();
  const packs = new EnginePacks({
    clock,
    files,
    folder: "/data/packs",
    ...machine,
    ...changes,
  });
  const npm = new NpmSource({
    registry: () => Promise.resolve("https://registry.example"),
    fetch(url) {
      asked.push(url.href);
      return Promise.resolve(answer(url));
    },
    ...changes,
  });
  return { asked, clock, files, npm, packs };
}

const SIGNAL = new AbortController().signal;

Deno.test("EnginePacks asks the registry for the release that this build loads, and keeps nothing of another", async () => {
  const bytes = await tarball(SOUND);
  const { asked, files, npm, packs } = packsOn(X64, () => new Response(bytes));
  await assert.rejects(
    packs.add("vulkan", npm, () => {}, SIGNAL),
    /is not what was published/,
  );
  assert.deepEqual(asked, [
    `https://registry.example/@node-llama-cpp/linux-x64-vulkan/-/linux-x64-vulkan-${PACK_VERSION}.tgz`,
  ]);
  const [vulkan] = await packs.list();
  assert.equal(vulkan?.state, "available");
  const left = await files.list("/data/packs");
  assert.deepEqual(left.map(({ name }) => name), [".lock"]);
});

Deno.test("EnginePacks adds all packages of a pack, tells how far it is, and asks for none twice", async () => {
  const bytes = await tarball(SOUND);
  const one = packageOf(bytes);
  const [model = assert.fail()] = PACKS;
  const pack = {
    ...model,
    packages: [{ ...one, name: "@o/a" }, { ...one, name: "@o/b" }],
  };
  const { asked, files, npm, packs } = packsOn(
    X64,
    () => new Response(bytes),
    { packs: [pack] },
  );
  const told: string[] = [];
  const tell = (done: number, of: number) => told.push(`${done}/${of}`);
  const added = await packs.add("vulkan", npm, tell, SIGNAL);
  assert.equal(added.state, "installed");
  assert.deepEqual(await packs.list(), [added]);
  assert.equal(told.at(-1), `${2 * bytes.length}/${2 * bytes.length}`);
  await packs.add("vulkan", npm, tell, SIGNAL);
  assert.equal(asked.length, 2);
  // Members can have it from here.
  const shelf = new PackArchives(files, "/data/packs", [pack]);
  assert.equal((await shelf.list()).length, 2);
  assert.deepEqual(
    await shelf.read(one.integrity, 10, 1_000_000),
    bytes.slice(10),
  );
  assert.equal(await shelf.read("sha512-other", 0, 10), null);
  assert.equal(await shelf.read(one.integrity, bytes.length, 10), null);
  await packs.remove("vulkan");
  assert.deepEqual(await shelf.list(), []);
});

Deno.test("EnginePacks gives up a registry that falls silent", async () => {
  const { clock, npm, packs } = packsOn(X64, undefined, {
    fetch: (_url, signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason))
      ),
  });
  const adding = assert.rejects(
    packs.add("vulkan", npm, () => {}, SIGNAL),
    /nothing came for 60 s/,
  );
  await clock.advance(60_000);
  await adding;
});

Deno.test("EnginePacks adds one pack at a time, whichever process asks", async () => {
  const { clock, files, npm, packs } = packsOn(X64);
  await files.makeFolder("/data/packs", 0o755);
  using _held = await files.lock("/data/packs/.lock");
  await assert.rejects(
    packs.add("vulkan", npm, () => {}, SIGNAL),
    /another engine pack is being added here/,
  );
  assert.equal(clock.pending, 0);
});

Deno.test("EnginePacks says what to set where no registry is known, and asks nobody", async () => {
  const { asked, npm, packs } = packsOn(X64, undefined, {
    registry: () => Promise.resolve(null),
  });
  await assert.rejects(
    packs.add("vulkan", npm, () => {}, SIGNAL),
    /no npm registry is known here; set NPM_CONFIG_REGISTRY/,
  );
  assert.deepEqual(asked, []);
});

Deno.test("EnginePacks says where it asked when the registry has nothing", async () => {
  const { npm, packs } = packsOn(X64);
  await assert.rejects(
    packs.add("cuda", npm, () => {}, SIGNAL),
    /registry\.example: it answered 404; NPM_CONFIG_REGISTRY/,
  );
});

Deno.test("EnginePacks lists a pack as installed when all its packages lie there", async () => {
  const { files, packs } = packsOn(X64);
  const cuda = PACKS.find(({ name }) => name === "cuda");
  const [first, second] = cuda?.packages ?? [];
  const place = (name = "") => `/data/packs/${PACK_VERSION}/${name}`;
  const stateOf = async () =>
    (await packs.list()).find(({ name }) => name === "cuda")?.state;
  const put = async (folder: string) => {
    await files.makeFolder(folder, 0o755);
    await files.writeAtomic(`${folder}/package.json`, "{}", 0o644);
  };
  await put(place(first?.name));
  assert.equal(await stateOf(), "available");
  await put(place(second?.name));
  assert.equal(await stateOf(), "installed");
  await packs.remove("cuda");
  assert.equal(await stateOf(), "available");
});

Deno.test("EnginePacks refuses by name what is not for this machine", async () => {
  const mac = packsOn({ os: "darwin", arch: "aarch64" });
  await assert.rejects(
    mac.packs.add("vulkan", mac.npm, () => {}, SIGNAL),
    /no engine pack for darwin on aarch64/,
  );
  const linux = packsOn(X64);
  await assert.rejects(
    linux.packs.add("rocm", linux.npm, () => {}, SIGNAL),
    /no engine pack "rocm" for this machine; there are vulkan and cuda/,
  );
  assert.deepEqual([...mac.asked, ...linux.asked], []);
});

Deno.test("PACKS are of the release of node-llama-cpp that is pinned", async () => {
  const pinned = JSON.parse(await Deno.readTextFile("deno.json")).imports;
  assert.equal(pinned["node-llama-cpp"], `npm:node-llama-cpp@${PACK_VERSION}`);
});
