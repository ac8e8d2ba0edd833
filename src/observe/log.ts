import {
  escapeUnprintable,
  type Log,
  type LogFields,
  type LogLevel,
} from "../domain/mod.ts";

/**
 * Why not `@logtape/logtape`: its import costs 7.7 MB of resident memory and a
 * thousand lines through it 11.6 MB more (version 2.4.2), for what is here.
 */

/** Where log lines go and what they look like. */
export interface LogOptions {
  /** Lines below this weight are dropped. */
  readonly level: LogLevel;
  readonly format: "text" | "json";
  /** Wall-clock milliseconds since the epoch. */
  now(): number;
  /** Takes one line without its line end; must not throw. */
  write(line: string): void;
}

/** Longest line in bytes of UTF-8, its end not counted. */
export const LONGEST_LINE_BYTES = 4_096;
/** Longest text of one field in UTF-16 units; what is over becomes "…". */
const LONGEST_FIELD = 1_024;
const CUT = "…";
const RESERVED = new Set(["time", "level", "room", "message"]);

const WEIGHT: Readonly<Record<LogLevel, number>> = {
  debug: 0,
  info: 1,
  warn: 2,
  error: 3,
};

/**
 * Make the root of a process's log.
 *
 * @param options Where to, and how.
 * @returns A log whose lines carry the room `node`, until `child` names another.
 */
export function createLog(options: LogOptions): Log {
  return logOf(options, "node");
}

function logOf(options: LogOptions, room: string): Log {
  const render = options.format === "json" ? renderJson : renderText;
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (WEIGHT[level] < WEIGHT[options.level]) return;
    const time = new Date(options.now()).toISOString();
    options.write(render({ time, level, room, message }, fields ?? {}));
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (name) => logOf(options, name),
  };
}

interface Head {
  readonly time: string;
  readonly level: LogLevel;
  readonly room: string;
  readonly message: string;
}

function renderText(
  { time, level, room, message }: Head,
  fields: LogFields,
): string {
  const parts = [time, level.toUpperCase().padEnd(5), escapeUnprintable(room)];
  parts.push(escapeUnprintable(message));
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    parts.push(`${escapeUnprintable(key)}=${textValue(value)}`);
  }
  return cutBytes(parts.join(" "), LONGEST_LINE_BYTES, CUT);
}

function renderJson(head: Head, fields: LogFields): string {
  const entry: Record<string, string | number | boolean | null> = { ...head };
  entry["message"] = cutText(head.message);
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const name = RESERVED.has(key) ? `field_${key}` : key;
    entry[name] = typeof value === "string" ? cutText(value) : value;
  }
  const line = JSON.stringify(entry);
  if (cutBytes(line, LONGEST_LINE_BYTES, "") === line) return line;
  // A cut line would be no JSON any more: the fields go, and it says so.
  const message = cutBytes(head.message, LONGEST_FIELD / 2, CUT);
  return JSON.stringify({ ...head, message, fieldsDropped: true });
}

function textValue(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  const plain = /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return escapeUnprintable(cutText(plain));
}

function cutText(text: string): string {
  return text.length > LONGEST_FIELD
    ? text.slice(0, LONGEST_FIELD).toWellFormed() + CUT
    : text;
}

function cutBytes(text: string, most: number, mark: string): string {
  if (text.length * 3 <= most) return text;
  const encoder = new TextEncoder();
  const room = new Uint8Array(most);
  if (encoder.encodeInto(text, room).read === text.length) return text;
  const left = most - encoder.encode(mark).length;
  const { read } = encoder.encodeInto(text, room.subarray(0, left));
  return text.slice(0, read) + mark;
}
