/** Label values of one series. Values must come from a bounded set. */
export type Labels = Readonly<Record<string, string>>;

/** A number that only grows. */
export interface Counter {
  /** Count. */
  add(amount: number, labels?: Labels): void;
}

/** A number that is read when somebody scrapes. */
export type GaugeReader = () => readonly {
  readonly value: number;
  readonly labels: Labels;
}[];

/** A distribution over fixed buckets. */
export interface Histogram {
  /** Count a value into its bucket. */
  observe(value: number, labels?: Labels): void;
}

/** The port that every room counts through. Names are Prometheus names with their unit. */
export interface Metrics {
  /** Register a counter. */
  counter(name: string, help: string, labelNames?: readonly string[]): Counter;
  /** Register a gauge that `read` answers at scrape time. */
  gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: GaugeReader,
  ): void;
  /** Register a distribution with the upper bounds of its buckets. */
  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames?: readonly string[],
  ): Histogram;
}
