import assert from "node:assert/strict";
import { createMetrics } from "../../src/observe/metrics.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

function registry() {
  const log = new QuietLog();
  const metrics = createMetrics({
    version: '1.2.3-"quoted"',
    log,
    residentBytes: () => 33_000_000,
    startedAtSeconds: 1_800_000_000.5,
  });
  return { log, metrics };
}

Deno.test("render writes every kind of metric in Prometheus' text format", async () => {
  const { metrics } = registry();
  const served = metrics.counter("a_total", "Things \\ done.\nTwice.", [
    "model",
  ]);
  served.add(1, { model: 'x"y\\z\n' });
  served.add(2.5, { model: 'x"y\\z\n', undeclared: "left out" });
  served.add(1);
  metrics.counter("untouched_total", "Shown from the start.");
  metrics.gauge("depth", "Read at scrape.", ["device"], () => [
    { value: -1, labels: { device: "cpu" } },
    { value: Infinity, labels: { device: "gpu" } },
  ]);
  const took = metrics.histogram("took_seconds", "Time.", [1, 0.1], ["node"]);
  for (const value of [0.1, 0.5, 7, NaN]) took.observe(value, { node: "n" });
  const page = await metrics.render();
  assert.ok(page.includes(
    `# HELP a_total Things \\\\ done.\\nTwice.
# TYPE a_total counter
a_total{model="x\\"y\\\\z\\n"} 3.5
a_total{model=""} 1
# HELP untouched_total Shown from the start.
# TYPE untouched_total counter
untouched_total 0
# HELP depth Read at scrape.
# TYPE depth gauge
depth{device="cpu"} -1
depth{device="gpu"} +Inf
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{node="n",le="0.1"} 1
took_seconds_bucket{node="n",le="1"} 2
took_seconds_bucket{node="n",le="+Inf"} 3
took_seconds_sum{node="n"} 7.6
took_seconds_count{node="n"} 3
`,
  ));
  assert.ok(
    page.includes('covey_build_info{version="1.2.3-\\"quoted\\""} 1\n'),
  );
  assert.ok(page.includes("process_resident_memory_bytes 33000000\n"));
  assert.ok(page.includes("process_start_time_seconds 1800000000.5\n"));
});

Deno.test("MET-01 a metric never has more series than its bound", async () => {
  const { metrics } = registry();
  const counter = metrics.counter("c_total", "c", ["who"]);
  const histogram = metrics.histogram("h", "h", [1], ["who"]);
  for (let n = 0; n < 2010; n++) {
    counter.add(1, { who: `${n}` });
    histogram.observe(1, { who: `${n}` });
  }
  counter.add(1, { who: "0" });
  const page = await metrics.render();
  assert.equal(page.match(/^c_total\{/gm)?.length, 2000);
  assert.equal(page.match(/^h_count\{/gm)?.length, 2000);
  assert.match(page, /^c_total\{who="0"\} 2$/m);
  assert.match(page, /^covey_metrics_dropped_samples 20$/m);
});

Deno.test("render leaves out a gauge that cannot be read and logs it", async () => {
  const { metrics, log } = registry();
  metrics.gauge("broken", "b", [], () => {
    throw new Error("no reading");
  });
  metrics.counter("after_total", "a");
  const page = await metrics.render();
  assert.ok(!page.includes("broken"));
  assert.ok(page.includes("after_total 0"));
  assert.equal(log.lines[0]?.fields.metric, "broken");
});

Deno.test("a name registered twice, and a counter that shrinks, are mistakes of the program", () => {
  const { metrics } = registry();
  const counter = metrics.counter("c_total", "c");
  assert.throws(() => metrics.histogram("c_total", "c", [1]), /twice/);
  assert.throws(() => counter.add(-1), /grow by -1/);
  assert.throws(() => counter.add(NaN), /grow by NaN/);
});
