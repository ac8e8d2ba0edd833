/** One way from a client to the engine. */
export interface Way {
  readonly name: string;
  /** Base address. */
  readonly url: string;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Processes between client and engine. */
  readonly pids: readonly number[];
  /** Whether it passes streams. */
  readonly streams: boolean;
}
