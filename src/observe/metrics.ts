import type {
  Counter,
  GaugeReader,
  Histogram,
  Labels,
  Log,
  Metrics,
} from "../domain/mod.ts";

/**
 * Why not `prom-client`: under Deno its import costs 20 MB of resident memory,
 * a third of what an idle node may use, for what fits on this page.
 */

/** Facts about the process, read when somebody scrapes. */
export interface MetricsOptions {
  readonly version: string;
  readonly log: Log;
  /** Resident memory in bytes. */
  readonly residentBytes: () => number;
  /** When the process started, in seconds since the epoch. */
  readonly startedAtSeconds: number;
}

/** The registry: every room counts into it, a scrape reads it. */
export interface MetricsRegistry extends Metrics {
  /** The whole page, in Prometheus' text format 0.0.4. */
  render(): Promise<string>;
}

/** Most series of one metric; further ones are dropped and counted (MET-01). */
const MOST_SERIES = 2000;

interface Sample {
  /** What is added to the metric's name: `_bucket`, `_sum`, `_count` or nothing. */
  readonly suffix: string;
  readonly labels: string;
  readonly value: number;
}

interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  samples(): Iterable<Sample>;
}

/**
 * Build the registry, with what every process tells of itself.
 *
 * @param options Facts about the process.
 * @returns The registry.
 */
export function createMetrics(options: MetricsOptions): MetricsRegistry {
  const byName = new Map<string, Metric>();
  let droppedSamples = 0;

  function register(name: string, metric: Metric): void {
    if (byName.has(name)) {
      throw new TypeError(`The metric "${name}" is registered twice`);
    }
    byName.set(name, metric);
  }

  /** Series by their rendered labels; undefined once there are too many. */
  function series<Value>(
    labelNames: readonly string[],
    create: () => Value,
  ): {
    readonly all: ReadonlyMap<string, Value>;
    at(labels: Labels): Value | undefined;
  } {
    const all = new Map<string, Value>();
    // Counting is frequent, and writing labels out is what it would cost most.
    const byValues = new Map<string, Value>();
    return {
      all,
      at(labels) {
        let values = "";
        for (const name of labelNames) values += `${labels[name] ?? ""}\0`;
        const known = byValues.get(values);
        if (known !== undefined) return known;
        const key = formatLabels(labelNames, labels);
        if (all.size >= MOST_SERIES) {
          droppedSamples++;
          return undefined;
        }
        const fresh = create();
        all.set(key, fresh);
        byValues.set(values, fresh);
        return fresh;
      },
    };
  }

  function counter(
    name: string,
    help: string,
    labelNames: readonly string[] = [],
  ): Counter {
    const { all, at } = series(labelNames, () => ({ value: 0 }));
    if (labelNames.length === 0) at({});
    register(name, {
      kind: "counter",
      help,
      *samples() {
        for (const [labels, { value }] of all) {
          yield { suffix: "", labels, value };
        }
      },
    });
    return {
      add(amount, labels = {}) {
        if (!(amount >= 0)) {
          throw new RangeError(`A counter cannot grow by ${amount}`);
        }
        const one = at(labels);
        if (one !== undefined) one.value += amount;
      },
    };
  }

  function gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: GaugeReader,
  ): void {
    register(name, {
      kind: "gauge",
      help,
      *samples() {
        const rows = read();
        droppedSamples += Math.max(0, rows.length - MOST_SERIES);
        for (const { value, labels } of rows.slice(0, MOST_SERIES)) {
          yield { suffix: "", labels: formatLabels(labelNames, labels), value };
        }
      },
    });
  }

  function histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly string[] = [],
  ): Histogram {
    const bounds = [...buckets].sort((a, b) => a - b);
    const { all, at } = series(labelNames, () => ({
      counts: bounds.map(() => 0),
      sum: 0,
      count: 0,
    }));
    register(name, {
      kind: "histogram",
      help,
      *samples() {
        for (const [labels, { counts, sum, count }] of all) {
          let below = 0;
          for (const [index, bound] of bounds.entries()) {
            below += counts[index] ?? 0;
            yield {
              suffix: "_bucket",
              labels: withBound(labels, formatValue(bound)),
              value: below,
            };
          }
          yield {
            suffix: "_bucket",
            labels: withBound(labels, "+Inf"),
            value: count,
          };
          yield { suffix: "_sum", labels, value: sum };
          yield { suffix: "_count", labels, value: count };
        }
      },
    });
    return {
      observe(value, labels = {}) {
        const one = at(labels);
        if (one === undefined || Number.isNaN(value)) return;
        const index = bounds.findIndex((bound) => value <= bound);
        if (index !== -1) one.counts[index] = (one.counts[index] ?? 0) + 1;
        one.sum += value;
        one.count++;
      },
    };
  }

  function render(): Promise<string> {
    let page = "";
    for (const [name, metric] of byName) page += renderMetric(name, metric);
    return Promise.resolve(page);
  }

  /** One metric's lines; one that cannot be read is left out and said so in the log. */
  function renderMetric(name: string, metric: Metric): string {
    try {
      let text = `# HELP ${name} ${escapeHelp(metric.help)}\n` +
        `# TYPE ${name} ${metric.kind}\n`;
      for (const { suffix, labels, value } of metric.samples()) {
        text += `${name}${suffix}${labels} ${formatValue(value)}\n`;
      }
      return text;
    } catch (error) {
      options.log.error("Failed to read a metric", {
        metric: name,
        cause: String(error),
      });
      return "";
    }
  }

  gauge(
    "covey_build_info",
    "1, labelled with the version that runs.",
    ["version"],
    () => [{ value: 1, labels: { version: options.version } }],
  );
  gauge(
    "process_resident_memory_bytes",
    "Resident memory of the node's process, engines apart.",
    [],
    () => [{ value: options.residentBytes(), labels: {} }],
  );
  gauge(
    "process_start_time_seconds",
    "When the process started, in seconds since the epoch.",
    [],
    () => [{ value: options.startedAtSeconds, labels: {} }],
  );
  gauge(
    "covey_metrics_dropped_samples",
    "Samples dropped because their metric has too many series.",
    [],
    () => [{ value: droppedSamples, labels: {} }],
  );

  return { counter, gauge, histogram, render };
}

function formatLabels(names: readonly string[], labels: Labels): string {
  if (names.length === 0) return "";
  const pairs = names.map((name) =>
    `${name}="${escapeLabel(labels[name] ?? "")}"`
  );
  return `{${pairs.join(",")}}`;
}

function withBound(labels: string, bound: string): string {
  const own = `le="${bound}"`;
  return labels === "" ? `{${own}}` : `${labels.slice(0, -1)},${own}}`;
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")
    .replace(/"/g, '\\"');
}

function escapeHelp(help: string): string {
  return help.replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
}

function formatValue(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
