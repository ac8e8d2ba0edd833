import assert from "node:assert/strict";
import fc from "fast-check";
import type { LogLevel } from "../../src/domain/mod.ts";
import { createLog, LONGEST_LINE_BYTES } from "../../src/observe/log.ts";

function collect(
  format: "text" | "json",
  level: LogLevel = "debug",
): { log: ReturnType<typeof createLog>; lines: string[] } {
  const lines: string[] = [];
  const log = createLog({
    level,
    format,
    now: () => Date.UTC(2026, 10, 30, 7, 40, 1, 5),
    write: (line) => lines.push(line),
  });
  return { log, lines };
}

Deno.test("createLog writes time, level, room, message and fields as text", () => {
  const { log, lines } = collect("text");
  log.child("router").warn("Candidate skipped", {
    model: "covey-tiny",
    waitMs: 12.5,
    reason: 'is "busy" = full',
    warm: false,
    root: null,
    absent: undefined,
  });
  log.info("Ready");
  assert.deepEqual(lines, [
    '2026-11-30T07:40:01.005Z WARN  router Candidate skipped model=covey-tiny waitMs=12.5 reason="is \\"busy\\" = full" warm=false root=null',
    "2026-11-30T07:40:01.005Z INFO  node Ready",
  ]);
});

Deno.test("createLog writes one JSON object a line when asked for JSON", () => {
  const { log, lines } = collect("json");
  log.child("link").error("Peer refused", { peer: "pi", message: "inner" });
  assert.deepEqual(JSON.parse(lines[0] ?? ""), {
    time: "2026-11-30T07:40:01.005Z",
    level: "error",
    room: "link",
    message: "Peer refused",
    peer: "pi",
    field_message: "inner",
  });
});

Deno.test("createLog drops lines below its level", () => {
  for (
    const [level, wanted] of [["debug", 4], ["info", 3], ["warn", 2], [
      "error",
      1,
    ]] as const
  ) {
    const { log, lines } = collect("text", level);
    const child = log.child("store");
    child.debug("a");
    child.info("b");
    child.warn("c");
    child.error("d");
    assert.equal(lines.length, wanted, level);
  }
});

Deno.test("createLog keeps to one bounded, well-formed line whatever it is given", () => {
  const hostile = fc.oneof(
    fc.string({ unit: "binary", maxLength: 50 }),
    fc.constantFrom(
      "\u001b[2J\nforged line",
      "\u202egnp.exe",
      "\ud800",
      "x".repeat(9_000),
      "💡".repeat(3_000),
      "\u0000".repeat(2_000),
    ),
  );
  const fields = fc.dictionary(
    hostile,
    fc.oneof(hostile, fc.double(), fc.boolean(), fc.constant(null)),
    { maxKeys: 30 },
  );
  fc.assert(
    fc.property(hostile, hostile, fields, (room, message, given) => {
      for (const format of ["text", "json"] as const) {
        const { log, lines } = collect(format);
        log.child(room.slice(0, 20)).info(message, given);
        assert.equal(lines.length, 1);
        const [line = ""] = lines;
        assert(new TextEncoder().encode(line).length <= LONGEST_LINE_BYTES);
        assert(line.isWellFormed());
        assert(!/[\n\r\u2028\u2029]/.test(line) || format === "json");
        assert(!/[\n\r]/.test(line));
        if (format === "text") {
          assert(!/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(line));
        } else assert.equal(JSON.parse(line).level, "info");
      }
    }),
    { numRuns: 300 },
  );
});
