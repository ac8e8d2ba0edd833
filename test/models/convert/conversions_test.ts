import assert from "node:assert/strict";
import { encodeCoveyTiny } from "../../../scripts/fixtures/covey_tiny.ts";
import {
  type ConversionView,
  Fault,
  type FaultCode,
} from "../../../src/domain/mod.ts";
import { viewOf } from "../../../src/models/convert/conversion_view.ts";
import { createConversions } from "../../../src/models/convert/conversions.ts";
import { createModelStore } from "../../../src/models/model_store.ts";
import {
  createSeededEntropy,
  ManualClock,
  MemoryFiles,
} from "../../../src/platform/mod.ts";
import { QuietLog } from "../../fakes/quiet_log.ts";

const NEVER = new AbortController().signal;
const TINY = encodeCoveyTiny();
const REQUEST = { model: "tiny-f32", to: "q8_0" };
const silent = () => {};

async function setUp(seed: Record<string, Uint8Array<ArrayBuffer>> = {}) {
  const files = new MemoryFiles({ "/models/org/tiny-f32.gguf": TINY, ...seed });
  const clock = new ManualClock();
  const log = new QuietLog();
  const machine = { isBusy: false, freeBytes: 100e9 };
  const stack = new AsyncDisposableStack();
  const store = stack.use(createModelStore({
    files,
    clock,
    log,
    modelsDir: "/models",
    manifestsDir: "/data/manifests",
  }));
  await store.digested();
  const conversions = stack.use(createConversions({
    files,
    clock,
    log,
    entropy: createSeededEntropy(1),
    store,
    modelsDir: "/models",
    isBusy: () => machine.isBusy,
    freeDiskBytes: () => machine.freeBytes,
    totalDiskBytes: () => 200e9,
  }));
  const partials = () => files.list("/models/.partial");
  return {
    files,
    clock,
    machine,
    store,
    conversions,
    partials,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const fault = (code: FaultCode, message: RegExp) => (error: unknown) =>
  error instanceof Fault && error.code === code && message.test(error.message);

Deno.test("convert makes a smaller model beside its original, whose manifest says what it is made from", async () => {
  await using setup = await setUp();
  const { conversions, files, partials, store } = setup;
  const told: ConversionView[] = [];
  const made = await conversions.convert(REQUEST, (v) => told.push(v), NEVER);
  assert.equal(made.model, "tiny-Q8_0");
  const original = store.list().find(({ name }) => name === "tiny-f32");
  const model = store.list().find(({ name }) => name === "tiny-Q8_0");
  assert.equal(model?.quantisation, "Q8_0");
  assert.equal(model.path, "/models/org/tiny-Q8_0.gguf");
  assert.equal(made.sizeBytes, model.sizeBytes);
  assert.ok(made.sizeBytes < made.originalBytes / 2);
  assert.deepEqual(made.derivation, {
    from: original?.root,
    recipe: "gguf q8_0 1",
    tookMs: 0,
  });
  // Known at once, by the bytes that were written, and what they are made from.
  const manifest = await store.manifest("tiny-Q8_0");
  assert.deepEqual(manifest?.files[0]?.origin, {
    source: "tiny-f32",
    path: null,
    revision: null,
    etag: null,
    sha256: null,
    derived: made.derivation,
  });
  const check = await store.verify("tiny-Q8_0", silent, NEVER);
  assert.deepEqual(check, { kind: "sound" });
  assert.deepEqual(await partials(), []);
  assert.equal(told[0]?.stage, "waiting");
  assert.equal(told.at(-1)?.stage, "publishing");
  // Whoever has the original makes the same bytes, range by range.
  using weights = await conversions.remake(made.derivation);
  assert.equal(weights?.original, "tiny-f32");
  const bytes = new Uint8Array(weights.sizeBytes);
  await weights.readInto(0, bytes);
  assert.deepEqual(bytes, await files.readBytes(model.path));
});

Deno.test("viewOf tells rate and time left once some of it is made", () => {
  const unknown = { bytesPerSecond: null, remainingMs: null };
  assert.deepEqual(viewOf("waiting"), {
    stage: "waiting",
    doneBytes: 0,
    totalBytes: 0,
    ...unknown,
  });
  const view = { stage: "converting" as const, totalBytes: 300 };
  assert.deepEqual(viewOf("converting", 100, 300, 2_000), {
    ...view,
    doneBytes: 100,
    bytesPerSecond: 50,
    remainingMs: 4_000,
  });
  assert.deepEqual(viewOf("converting", 0, 300, 2_000), {
    ...view,
    doneBytes: 0,
    ...unknown,
  });
});

Deno.test("remake has nothing without the original, or for a recipe that is not known", async () => {
  await using setup = await setUp();
  const { conversions, store } = setup;
  const [original] = store.list();
  const known = { from: `${original?.root}`, recipe: "gguf q8_0 1", tookMs: 1 };
  const other = { ...known, from: "ab".repeat(32) };
  assert.equal(await conversions.remake(other), null);
  assert.equal(
    await conversions.remake({ ...known, recipe: "gguf q8_0 2" }),
    null,
  );
});

Deno.test("convert refuses names that are taken, forms it has not, and disks without room", async () => {
  await using setup = await setUp({
    "/models/org/half.gguf": new Uint8Array(3),
  });
  const { conversions, machine, partials } = setup;
  const convert = (change: object) =>
    conversions.convert({ ...REQUEST, ...change }, silent, NEVER);
  await assert.rejects(
    convert({ to: "q4_k_m" }),
    fault("invalid_request", /no way to make "q4_k_m"; there is q8_0/),
  );
  await assert.rejects(
    convert({ model: "none" }),
    fault("model_not_found", /no model "none"/),
  );
  await assert.rejects(
    convert({ name: "../x" }),
    fault("invalid_request", /cannot be the name of a model/),
  );
  for (const name of ["tiny-f32", "half"]) {
    await assert.rejects(
      convert({ name }),
      fault("conflict", /lies here already/),
    );
  }
  machine.freeBytes = 1e9;
  await assert.rejects(convert({}), fault("storage_failed", /make room/));
  assert.deepEqual(await partials(), []);
});

Deno.test("convert stands back while the machine answers, and leaves nothing when it is cancelled", async () => {
  await using setup = await setUp();
  const { clock, conversions, machine, partials, store } = setup;
  machine.isBusy = true;
  const stop = new AbortController();
  const writing = Promise.withResolvers<void>();
  const made = conversions.convert(REQUEST, ({ stage }) => {
    if (stage === "converting") writing.resolve();
  }, stop.signal);
  made.catch(silent);
  await writing.promise;
  // It rests, since its time does not go on by itself.
  await store.refresh();
  assert.equal(store.list().length, 1);
  assert.equal((await partials()).length, 1);
  const [partial] = await store.partials?.() ?? [];
  assert.equal(partial?.of, "conversion");
  stop.abort(new Error("Enough"));
  await assert.rejects(made, /Enough/);
  assert.deepEqual(await partials(), []);
  // The next one has its turn, and ends once it may.
  const again = conversions.convert(REQUEST, silent, NEVER);
  machine.isBusy = false;
  await clock.advance(0);
  assert.equal((await again).model, "tiny-Q8_0");
});

Deno.test("convert makes nothing of an original that changes meanwhile", async () => {
  await using setup = await setUp();
  const { conversions, files, store } = setup;
  let changed = Promise.resolve();
  const made = conversions.convert(REQUEST, ({ stage }) => {
    if (stage !== "publishing") return;
    changed = files.writeAtomic(
      "/models/org/tiny-f32.gguf",
      TINY.slice(0, -32),
      0o600,
    );
  }, NEVER);
  await assert.rejects(made, fault("conflict", /was changed meanwhile/));
  await changed;
  await store.refresh();
  assert.ok(!store.list().some(({ name }) => name === "tiny-Q8_0"));
});
