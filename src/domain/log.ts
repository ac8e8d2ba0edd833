/** What a log line may carry beside its message; never text of prompts, never a secret. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | null | undefined>
>;

/** Levels in rising order of weight. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** The port that every room logs through. */
export interface Log {
  /** Say what helps to find a fault. */
  debug(message: string, fields?: LogFields): void;
  /** Say what happened. */
  info(message: string, fields?: LogFields): void;
  /** Say what an operator should look at. */
  warn(message: string, fields?: LogFields): void;
  /** Say what failed. */
  error(message: string, fields?: LogFields): void;
  /** A log for one room, whose name each line then carries. */
  child(room: string): Log;
}
