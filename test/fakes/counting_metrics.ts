import type {
  Counter,
  GaugeReader,
  Histogram,
  Labels,
  Metrics,
} from "../../src/domain/mod.ts";

/** Metrics that a test can read. */
export class CountingMetrics implements Metrics {
  /** Totals by `name{label=value,…}`. */
  readonly counts = new Map<string, number>();
  readonly observations = new Map<string, number[]>();
  readonly #gauges = new Map<string, GaugeReader>();

  counter(name: string): Counter {
    return {
      add: (amount, labels = {}) => {
        const key = keyOf(name, labels);
        this.counts.set(key, (this.counts.get(key) ?? 0) + amount);
      },
    };
  }

  gauge(
    name: string,
    _help: string,
    _labelNames: readonly string[],
    read: GaugeReader,
  ): void {
    this.#gauges.set(name, read);
  }

  histogram(name: string): Histogram {
    return {
      observe: (value, labels = {}) => {
        const key = keyOf(name, labels);
        this.observations.set(key, [
          ...this.observations.get(key) ?? [],
          value,
        ]);
      },
    };
  }

  /** A gauge's series now. */
  seriesOf(name: string): ReturnType<GaugeReader> {
    return this.#gauges.get(name)?.() ?? [];
  }

  /** Sum of a gauge's series now. */
  gaugeOf(name: string): number {
    const series = this.#gauges.get(name)?.() ?? [];
    return series.reduce((sum, { value }) => sum + value, 0);
  }
}

function keyOf(name: string, labels: Labels): string {
  const said = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return said.length === 0 ? name : `${name}{${said.join(",")}}`;
}
