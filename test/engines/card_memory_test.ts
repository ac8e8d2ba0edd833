import assert from "node:assert/strict";
import type { LocalModel } from "../../src/domain/mod.ts";
import type { CardReport } from "../../src/engines/card_report.ts";
import { packageFolder } from "../../src/engines/packs/packs_folder.ts";
import { PACKS } from "../../src/engines/packs/pack_table.ts";
import { buildAttempt } from "../fakes/attempt_builder.ts";
import { GB, model, never, setUp } from "../fakes/embedded_setup.ts";

/** A model of 32 layers and 6 GB with little context. */
const SIX: Partial<LocalModel> = {
  sizeBytes: 6 * GB,
  contextLength: 1024,
  shape: { layers: 32, width: 1024, keptPerToken: 64, vocabulary: 32_000 },
};

/** A machine with a card of 10 GB, and processes that say what they hold of it. */
async function carded(freeCardBytes: number) {
  const card = { totalBytes: 10 * GB, freeBytes: freeCardBytes };
  const one = setUp({
    packsDir: "/packs",
    cardMemory: () => card,
    totalMemoryBytes: () => 64 * GB,
    availableMemoryBytes: () => one.memory.freeBytes,
  });
  for (const { name } of PACKS.flatMap(({ packages }) => packages)) {
    const folder = packageFolder("/packs", name);
    await one.files.makeFolder(folder, 0o755);
    await one.files.writeAtomic(`${folder}/package.json`, "{}", 0o644);
  }
  one.models.splice(0, one.models.length);
  for (const name of ["a", "b", "c"]) one.models.push(model(name, SIX));
  const reports = new Map<string, Partial<CardReport> | null>();
  one.processes.onSpawn = (child) => {
    const { command } = child.options;
    const path = command[command.indexOf("--model") + 1] ?? "";
    const name = path.replace(/^.*\/|\.gguf$/g, "");
    const said = reports.get(name);
    const usedBytes = said === null ? 0 : said?.usedBytes ?? 6.3 * GB;
    card.freeBytes -= usedBytes;
    child.exited.then(() => card.freeBytes += usedBytes);
    child.say({
      event: "ready",
      loadTimeMs: 1,
      contextLength: 1024,
      slots: 2,
      card: said === null ? null : {
        gpu: "cuda",
        layers: 33,
        usedBytes,
        ...card,
        isShared: false,
        ...said,
      },
    });
  };
  const residency = (name: string) =>
    one.engine.view().offers.find((offer) => offer.model === name)?.residency;
  return { ...one, card, reports, residency };
}

Deno.test("the card's idle model leaves for another that fits there alone, and what lies in the machine's memory stays", async () => {
  const { ask, clock, engine, log, reports, residency, state } = await carded(
    10 * GB,
  );
  await using _owner = engine;
  reports.set("a", { usedBytes: 0, layers: 0 });
  await ask("a");
  await clock.advance(1000);
  await ask("b");
  assert.equal(residency("b")?.cardBytes, 6.3 * GB);
  assert.equal(residency("a")?.cardBytes, 0);
  await clock.advance(1000);
  const offer = engine.view().offers.find(({ model }) => model === "c");
  assert.deepEqual(offer?.evicts?.map(({ model }) => model), ["b"]);
  await ask("c");
  // "a" was used longer ago, and has nothing of what is short.
  assert.deepEqual(["a", "b", "c"].map(state), ["warm", "cold", "warm"]);
  const line = log.lines.find(({ message }) => /make room/.test(message));
  assert.equal(line?.fields["unloaded"], "b");
  assert.ok(Number(line?.fields["neededCardBytes"]) > 6 * GB);
});

Deno.test("a model is loaded beside a busy one with what the card has left", async () => {
  const { ask, engine, reports, residency, state } = await carded(10 * GB);
  await using _owner = engine;
  const started = await engine.start(
    buildAttempt("a"),
    never,
  );
  assert.equal(started.kind, "accepted");
  const held = await started.answer();
  reports.set("b", { usedBytes: 2.5 * GB, layers: 12 });
  await ask("b");
  assert.deepEqual(["a", "b"].map(state), ["warm", "warm"]);
  assert.equal(residency("b")?.cardBytes, 2.5 * GB);
  await held.body.cancel();
});

Deno.test("a model too large for the machine's memory fits with the card's, and not without", async () => {
  const card = { totalBytes: 24 * GB, freeBytes: 24 * GB };
  const with_ = setUp({
    packsDir: "/packs",
    cardMemory: () => card,
    totalMemoryBytes: () => 8 * GB,
  });
  await using _owner = with_.engine;
  with_.models.push(model("big", { ...SIX, sizeBytes: 16 * GB }));
  const misfit = () =>
    with_.engine.view().offers.find((offer) => offer.model === "big")?.misfit;
  assert.equal(misfit(), undefined);
  card.totalBytes = 4 * GB;
  with_.models.splice(-1, 1, model("big", { ...SIX, sizeBytes: 16 * GB }));
  assert.match(
    misfit()?.reason ?? "",
    /may use 8\.0 GB of memory in all and 3\.7 GB of its cards'$/,
  );
});

Deno.test("a card that shares the machine's memory, and a pack without a driver, count once", async () => {
  for (const said of [{ isShared: true }, null]) {
    const { ask, engine, reports, residency } = await carded(10 * GB);
    await using _owner = engine;
    reports.set("a", said);
    await ask("a");
    assert.equal(residency("a")?.cardBytes, 0);
    assert.equal(engine.computesOn("nvidia"), false);
  }
});
