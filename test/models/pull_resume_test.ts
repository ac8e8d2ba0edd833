import assert from "node:assert/strict";
import { FileError } from "../../src/platform/mod.ts";
import { sha256Of, startHub } from "../fakes/hub_server.ts";
import {
  expectPulled,
  half,
  idOf,
  model,
  PIECE,
  PLACE,
  pulling,
  Q4,
  seeded,
} from "./pull_setup.ts";

Deno.test("pull goes on after short bodies and errors, without a byte twice", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  hub.faults = { shortBodies: { bytes: 300, times: 7 } };
  await using node = pulling(hub);
  await node.pull("org/repo");
  await expectPulled(node.files, bytes);
  await node.store.remove("m-Q4_K_M");
  hub.faults = { failing: { status: 503, times: 6 } };
  await assert.rejects(node.pull("org/repo"), /can not be reached/);
  hub.faults = { failing: { status: 503, times: 5 } };
  await node.pull("org/repo");
  await node.store.remove("m-Q4_K_M");
  hub.faults = {
    beforeRange() {
      hub.faults = { failing: { status: 429, times: 3 } };
    },
  };
  await node.pull("org/repo");
  await expectPulled(node.files, bytes);
});

Deno.test("a pull goes on by itself after a restart and fetches only what is missing", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  const files = seeded();
  await half(hub, files);
  await using node = pulling(hub, { files });
  await node.pulls.resume();
  assert.equal(node.pulls.list().length, 1);
  // A second caller watches the pull that runs.
  await node.pull("org/repo");
  await expectPulled(files, bytes);
  const pieces = hub.requests.filter(({ ifRange }) => ifRange !== null).length;
  assert.equal(pieces, Math.ceil(bytes.length / PIECE) - 5);
});

for (const chunked of [false, true]) {
  Deno.test(`DLD-01: a server that answers a range with the whole file is read from its beginning (chunked: ${chunked})`, async () => {
    const bytes = model(1);
    await using hub = startHub({ [Q4]: bytes });
    const files = seeded();
    await half(hub, files);
    hub.faults = { ignoreRanges: true, chunked };
    await using node = pulling(hub, { files });
    await node.pull("org/repo");
    await expectPulled(files, bytes);
  });
}

for (const compressed of ["whole", "parts"] as const) {
  Deno.test(`DLD-01: a server that compresses what it was asked not to is named, and nothing of it is kept (${compressed})`, async () => {
    await using hub = startHub({ [Q4]: model(1) });
    hub.faults = { compressed };
    await using node = pulling(hub);
    for (const source of ["org/repo", `${hub.origin}/files/${Q4}`]) {
      await assert.rejects(
        node.pull(source),
        /sends the file compressed \("gzip"\).*name an address/,
      );
    }
    assert.deepEqual(node.store.list(), []);
  });
}

Deno.test("DLD-01: bytes without the published digest never appear under the final name", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  hub.faults = { publishedSha256: "0".repeat(64), ignoreRanges: true };
  await using node = pulling(hub);
  await assert.rejects(node.pull("org/repo"), /do not have the SHA-256/);
  await assert.rejects(node.files.stat(PLACE));
  assert.deepEqual(node.store.list(), []);
});

Deno.test("DLD-03: a partial file that is whole is checked and not fetched again, others are fetched anew", async () => {
  const bytes = model(1);
  const count = Math.ceil(bytes.length / PIECE);
  const state = JSON.stringify({
    sizeBytes: bytes.length,
    etag: null,
    sha256: sha256Of(bytes),
    pieceBytes: PIECE,
    done: Array.from({ length: count }, (_, at) => at),
  });
  const wrong = bytes.slice();
  wrong[5_000] = 255;
  const long = new Uint8Array([...bytes, 1]);
  for (
    const [part, fetched] of [[bytes, false], [wrong, true], [
      long,
      true,
    ]] as const
  ) {
    await using hub = startHub({ [Q4]: bytes });
    const files = seeded();
    const { id } = await idOf(hub);
    const path = `/models/.partial/${id}`;
    await files.makeFolder(path, 0o700);
    await files.writeAtomic(`${path}/${Q4}.part`, part, 0o600);
    await files.writeAtomic(`${path}/${Q4}.part.json`, state, 0o600);
    await using node = pulling(hub, { files });
    await node.pull("org/repo");
    await expectPulled(files, bytes);
    const asked = hub.requests.some(({ range }) => range !== null);
    assert.equal(asked, fetched);
  }
});

for (const contentRange of [true, false]) {
  Deno.test(`DLD-03: a 416 in the middle starts the file anew (Content-Range: ${contentRange})`, async () => {
    const bytes = model(1);
    await using hub = startHub({ [Q4]: bytes });
    hub.faults = { refuseRanges: { contentRange, times: 2 } };
    await using node = pulling(hub);
    await node.pull("org/repo");
    await expectPulled(node.files, bytes);
  });
}

Deno.test("DLD-04: a file that changed between two halves ends as the new one, never as a mix", async () => {
  const first = model(1);
  const second = model(2);
  assert.equal(first.length, second.length);
  await using hub = startHub({ [Q4]: first });
  const url = `${hub.origin}/files/${Q4}`;
  await using node = pulling(hub);
  let served = 0;
  hub.faults.beforeRange = () => {
    if (++served === 6) hub.files.set(Q4, second);
  };
  await node.pull(url);
  assert.equal(
    sha256Of(await node.files.readBytes(`/models/${Q4}`)),
    sha256Of(second),
  );
});

Deno.test("DLD-04: weak validators join no two answers", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  hub.faults = { etag: 'W/"a"' };
  await using node = pulling(hub);
  const outcome = await node.pull(`${hub.origin}/files/${Q4}`);
  assert.equal(outcome.verified, false);
  assert.deepEqual(hub.requests.map(({ range }) => range), ["bytes=0-0", null]);
});

Deno.test("a split model whose publishing was cut short is put in place by the next try, and nothing is fetched twice (GGF-01)", async () => {
  const names = [1, 2].map((part) => `b-Q6_K-0000${part}-of-00002.gguf`);
  const [first = "", second = ""] = names;
  await using hub = startHub({ [first]: model(1), [second]: model(2) });
  await using node = pulling(hub);
  const { rename } = node.files;
  node.files.rename = async (from, to) => {
    // The first part is the last one to be moved.
    if (to.endsWith(`/${first}`)) {
      throw new FileError("other", to, "rename", undefined);
    }
    await rename.call(node.files, from, to);
  };
  await assert.rejects(node.pull("org/repo"), /the disk failed/);
  assert.deepEqual(node.store.list(), []);
  node.files.rename = rename;
  const asked = hub.requests.length;
  assert.equal((await node.pull("org/repo")).model, "b-Q6_K");
  assert.deepEqual(
    hub.requests.slice(asked).filter(({ range }) => range !== null),
    [],
  );
  assert.deepEqual(
    (await node.files.list("/models/org/repo")).map(({ name }) => name),
    names,
  );
  assert.deepEqual(await node.files.list("/models/.partial"), []);
});

Deno.test("a paused pull keeps its bytes over a restart and goes on where it was when resumed", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  const files = seeded();
  const stuck = Promise.withResolvers<void>();
  const ninth = Promise.withResolvers<void>();
  let served = 0;
  hub.faults.beforeRange = async () => {
    if (++served === 9) ninth.resolve();
    if (served > 5) await stuck.promise;
  };
  let id = "";
  {
    await using node = pulling(hub, { files });
    const pulled = node.pull("org/repo");
    const told = assert.rejects(pulled, /was paused; `covey pulls resume/);
    await ninth.promise;
    id = `${node.pulls.list()[0]?.id}`;
    assert.equal(await node.pulls.pause(id), true);
    await told;
    assert.equal(node.pulls.list()[0]?.stage, "paused");
  }
  stuck.resolve();
  hub.faults = {};
  hub.requests.length = 0;
  await using node = pulling(hub, { files });
  await node.pulls.resume();
  assert.deepEqual(
    node.pulls.list().map(({ id, stage }) => ({ id, stage })),
    [{ id, stage: "paused" }],
  );
  assert.equal(hub.requests.length, 0);
  assert.equal(await node.pulls.unpause("none"), false);
  assert.equal(await node.pulls.unpause(id), true);
  // Who asks for the same watches it.
  await node.pull("org/repo");
  await expectPulled(files, bytes);
  const pieces = hub.requests.filter(({ ifRange }) => ifRange !== null).length;
  assert.equal(pieces, Math.ceil(bytes.length / PIECE) - 5);
  assert.deepEqual(node.pulls.list(), []);
});

Deno.test("partial files of no pull are removed after a week, those of a paused one never", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  const files = seeded();
  const now = Date.now();
  const day = 24 * 3_600_000;
  const times = new Map<string, number>();
  for (const [name, days] of [["old", 8], ["young", 6]] as const) {
    await files.makeFolder(`/models/.partial/${name}`, 0o700);
    await files.writeAtomic(`/models/.partial/${name}/a.part`, "x", 0o600);
    times.set(`/models/.partial/${name}`, now - 30 * day);
    times.set(`/models/.partial/${name}/a.part`, now - days * day);
  }
  const stat = files.stat.bind(files);
  files.stat = async (path) => ({
    ...await stat(path),
    modifiedMs: times.get(path) ?? now,
  });
  await using node = pulling(hub, { files });
  await node.pulls.resume();
  const left = await files.list("/models/.partial");
  assert.deepEqual(left.map(({ name }) => name), ["young"]);
  assert.ok(
    node.log.lines.some(({ message }) =>
      message.startsWith("Removed partial files")
    ),
  );
});
