import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { PullAllies, PullWant } from "../../src/domain/mod.ts";
import { FileError } from "../../src/platform/mod.ts";
import { sha256Of, startHub } from "../fakes/hub_server.ts";
import {
  expectPulled,
  FOREVER,
  model,
  PIECE,
  PLACE,
  pulling,
  Q4,
  seeded,
  silent,
} from "./pull_setup.ts";

Deno.test("pull fetches the asked quantisation in ranges, checks it and offers it with its root", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes, "m-Q8_0.gguf": model(2, 20_000) });
  await using node = pulling(hub);
  const stages = new Set<string>();
  const outcome = await node.pulls.pull(
    { source: "hf.co/org/repo" },
    ({ stage }) => stages.add(stage),
    FOREVER,
  );
  assert.deepEqual(outcome, {
    model: "m-Q4_K_M",
    sizeBytes: bytes.length,
    verified: true,
    from: [],
  });
  assert.deepEqual([...stages], [
    "asking",
    "downloading",
    "verifying",
    "publishing",
  ]);
  await expectPulled(node.files, bytes);
  const [offered] = node.store.list();
  assert.match(`${offered?.root}`, /^[0-9a-f]{64}$/);
  const ranged = hub.requests.filter(({ ifRange }) => ifRange !== null);
  assert.equal(ranged.length, Math.ceil(bytes.length / PIECE));
  hub.requests.length = 0;
  assert.deepEqual(await node.pull("org/repo"), outcome);
  assert.equal(hub.requests.length, 1, "the listing alone");
  hub.files.set(Q4, model(3));
  await assert.rejects(node.pull("org/repo"), /lies here already/);
  assert.equal(await node.files.readText("/data/pulls.json"), "[]");
});

Deno.test("pull takes a split model whole (GGF-01), and says what there is when the choice is not", async () => {
  const part = (number: number) => `big/b-Q6_K-0000${number}-of-00002.gguf`;
  await using hub = startHub({
    [part(1)]: model(1),
    [part(2)]: model(2),
    "m-IQ2_XS.gguf": model(3),
    "mmproj-F16.gguf": model(4),
  });
  await using node = pulling(hub);
  await assert.rejects(node.pull("org/repo:Q5_K_M"), /it has Q6_K, IQ2_XS$/);
  const outcome = await node.pull("org/repo:q6_k");
  assert.equal(outcome.model, "b-Q6_K");
  assert.equal(outcome.sizeBytes, model(1).length + model(2).length);
  assert.deepEqual(
    (await node.files.list("/models/org/repo")).map(({ name }) => name),
    [
      "b-Q6_K-00001-of-00002.gguf",
      "b-Q6_K-00002-of-00002.gguf",
      "mmproj-F16.gguf",
    ],
  );
});

Deno.test("the token goes to the hub alone, and a redirect's digest is believed", async () => {
  const bytes = model(1);
  await using elsewhere = startHub({ [Q4]: bytes });
  await using hub = startHub({ [Q4]: bytes });
  hub.faults = { token: "hf_secret", redirectTo: elsewhere.origin };
  {
    await using stranger = pulling(hub);
    await assert.rejects(stranger.pull("org/repo"), /set HF_TOKEN/);
  }
  await using node = pulling(hub, { token: "hf_secret" });
  const outcome = await node.pull(`${hub.origin}/files/${Q4}`);
  assert.equal(outcome.verified, true);
  assert.ok(elsewhere.requests.length > 2);
  assert.ok(elsewhere.requests.every((one) => one.authorization === null));
  assert.ok(!JSON.stringify(node.log.lines).includes("hf_secret"));
});

Deno.test("pull leaves a tenth of the disk free, or 20 GB where that is less, and says so (health conditions)", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  for (
    const [diskBytes, freeBytes, isRefused] of [
      [100e9, 9.9e9, true],
      [100e9, 10.1e9, false],
      [1000e9, 19e9, true],
      // Less than a tenth, and still more than 20 GB.
      [1000e9, 21e9, false],
    ] as const
  ) {
    await using node = pulling(hub, { diskBytes, freeBytes });
    const pulled = node.pull("org/repo");
    if (isRefused) {
      await assert.rejects(pulled, {
        code: "storage_failed",
        message: new RegExp(
          `the disk has ${(freeBytes / 1e9).toFixed(1)} GB left, and ${
            diskBytes === 100e9 ? "10.0" : "20.0"
          } GB have to stay free: make room`,
        ),
      });
    } else assert.equal((await pulled).verified, true);
  }
});

Deno.test("pull refuses what is no model, what does not fit, and names that lead elsewhere", async () => {
  await using hub = startHub({
    [Q4]: new Uint8Array(5_000),
    "a/..gguf/../x.gguf": model(1),
  });
  await using node = pulling(hub, { freeBytes: 200_000_000 });
  await assert.rejects(node.pull("org/repo"), /the disk has 0.2 GB left/);
  const before = hub.requests.length;
  const sources = [
    "../../etc/passwd",
    "org/..",
    "nul/repo",
    "org",
    "",
    "file:///m.gguf",
    `${hub.origin}/files/x.bin`,
    `${hub.origin}/files/..%2Fx.gguf`,
    `${hub.origin}/files/a%00.gguf`,
    `${hub.origin}/files/con.gguf`,
    `${hub.origin}/files/${"x".repeat(300)}.gguf`,
    "http://user:pass@127.0.0.1/x.gguf",
  ];
  for (const source of sources) {
    await assert.rejects(node.pull(source), /nothing to pull/, source);
  }
  assert.equal(hub.requests.length, before);
  await assert.rejects(
    node.pull(`${hub.origin}/files/${Q4}`),
    /What came is no model/,
  );
  assert.deepEqual(node.store.list(), []);
});

Deno.test("a folder that can not be written ends a pull with a remedy, and nothing is published (DLD-06)", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  await using node = pulling(hub);
  node.files.openForWriting = (path) =>
    Promise.reject(new FileError("full", path, "open", undefined));
  await assert.rejects(node.pull("org/repo"), /the disk is full; make room/);
  await assert.rejects(node.files.stat(PLACE));
});

Deno.test("a pull that fails before anything came leaves no partial files", async () => {
  await using hub = startHub({});
  await using node = pulling(hub);
  await assert.rejects(
    node.pull(`${hub.origin}/files/m.gguf`),
    /has no such file/,
  );
  assert.deepEqual(await node.files.list("/models/.partial"), []);
});

Deno.test("cancel ends a pull and removes its bytes; many callers share one download", async () => {
  await using hub = startHub({ [Q4]: model(1) });
  const stuck = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  hub.faults.beforeRange = async () => {
    asked.resolve();
    await stuck.promise;
  };
  await using node = pulling(hub);
  const watched = [0, 1].map(() => Promise.withResolvers<void>());
  const settled = Promise.allSettled(
    ["org/repo", "hf://org/repo"].map((source, at) =>
      node.pulls.pull({ source }, () => watched[at]?.resolve(), FOREVER)
    ),
  );
  await Promise.all([asked, ...watched].map(({ promise }) => promise));
  const [view, ...more] = node.pulls.list();
  assert.deepEqual(more, []);
  const cancelled = node.pulls.cancel(`${view?.id}`);
  assert.equal(await cancelled, true);
  for (const one of await settled) {
    assert.ok(one.status === "rejected");
    assert.match(one.reason.message, /was cancelled/);
  }
  stuck.resolve();
  assert.equal(await node.pulls.cancel(`${view?.id}`), false);
  assert.deepEqual(await node.files.list("/models/.partial"), []);
});

Deno.test("bytes from members that are not the published ones are dropped, and the source is asked", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  const files = seeded();
  const wants: PullWant[] = [];
  const allies: PullAllies = {
    async turn(want) {
      wants.push(want);
      await files.makeFolder(`/models/${want.model}`, 0o700);
      const path = `/models/${want.model}/${want.model}.gguf`;
      await files.writeAtomic(path, model(2), 0o600);
      await node.store.refresh();
      return { kind: "copied", model: want.model, from: ["mallory"] };
    },
  };
  await using node = pulling(hub, { files, allies });
  const outcome = await node.pull("org/repo");
  assert.deepEqual(outcome.from, []);
  assert.deepEqual(wants.map(({ model, sha256s }) => ({ model, sha256s })), [
    { model: "m-Q4_K_M", sha256s: [sha256Of(bytes)] },
  ]);
  await expectPulled(files, bytes);
  assert.equal(node.store.list().length, 1);
  assert.ok(
    node.log.lines.some(({ fields }) => fields["members"] === "mallory"),
  );
});

Deno.test("pull checks the disk for the model and its vision part together, before anything is fetched", async () => {
  const bytes = model(1);
  const vision = model(4);
  const spareBytes = 256 * 1024 * 1024;
  await using hub = startHub({ [Q4]: bytes, "mmproj-F16.gguf": vision });
  const bothBytes = spareBytes + bytes.length + vision.length;
  {
    await using node = pulling(hub, { freeBytes: bothBytes - 1 });
    await assert.rejects(node.pull("org/repo"), /have to stay free/);
    assert.ok(hub.requests.every(({ path }) => path.startsWith("/api/")));
  }
  await using node = pulling(hub, { freeBytes: bothBytes });
  assert.equal((await node.pull("org/repo")).model, "m-Q4_K_M");
});

Deno.test("a pull that is begun again while it is cancelled waits until the old bytes are gone, and loses none of its own", async () => {
  const bytes = model(1);
  await using hub = startHub({ [Q4]: bytes });
  const asked = Promise.withResolvers<void>();
  const stuck = Promise.withResolvers<void>();
  hub.faults.beforeRange = async () => {
    asked.resolve();
    await stuck.promise;
  };
  await using node = pulling(hub);
  const first = node.pull("org/repo");
  first.catch(silent);
  await asked.promise;
  const steps: string[] = [];
  hub.faults.beforeRange = () => {
    steps.push("asked");
  };
  const removing = Promise.withResolvers<void>();
  const { remove } = node.files;
  node.files.remove = async (path) => {
    if (/^\/models\/\.partial\/[^/]+$/.test(path)) {
      node.files.remove = remove;
      removing.resolve();
      // Time enough for the other one to come into the way.
      for (let turn = 0; turn < 200; turn++) {
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      steps.push("removed");
    }
    return await remove.call(node.files, path);
  };
  const [{ id = "" } = {}] = node.pulls.list();
  const cancelled = node.pulls.cancel(id);
  await removing.promise;
  const again = node.pulls.cancel(id);
  const second = node.pull("org/repo");
  assert.equal(await node.pulls.pause(id), false, "it ends");
  assert.deepEqual([await cancelled, await again], [true, true]);
  await assert.rejects(first, /was cancelled/);
  await second;
  assert.deepEqual(steps.slice(0, 2), ["removed", "asked"]);
  await expectPulled(node.files, bytes);
  stuck.resolve();
});

for (const isSame of [true, false]) {
  Deno.test(`a pull puts its file over no other that came to its place meanwhile (the same bytes: ${isSame})`, async () => {
    const bytes = model(1);
    const other = isSame ? bytes : model(2);
    await using hub = startHub({ [Q4]: bytes });
    await using node = pulling(hub);
    const path = `/models/${Q4}`;
    hub.faults.beforeRange = async (at) => {
      if (at > 0) return;
      await node.files.writeAtomic(path, other, 0o600);
      await node.store.refresh();
      await node.store.digested();
    };
    const pulled = node.pull(`${hub.origin}/files/${Q4}`);
    if (isSame) assert.equal((await pulled).model, "m-Q4_K_M");
    else await assert.rejects(pulled, /Another model "m-Q4_K_M" lies here/);
    assert.deepEqual(await node.files.readBytes(path), other);
  });
}
