import { formatTable } from "@covey/core/cli";
import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@covey/core/domain";

const MEGABYTE = 1e6;

/**
 * Copies as a table, with what there is to say of each below it.
 *
 * @param copies What the node answered.
 * @param unknown Members that did not tell of theirs.
 * @returns Null where its form is unknown.
 */
export function copiesTable(
  copies: JsonValue | undefined,
  unknown: JsonValue | undefined = [],
): string | null {
  if (!Array.isArray(copies)) return null;
  const rows = copies.filter(isJsonObject);
  const silent = Array.isArray(unknown) ? unknown.map(text) : [];
  const last = silent.length === 0
    ? []
    : [`Not known, since they do not answer: copies of ${silent.join(", ")}`];
  if (rows.length === 0) return ["There are no copies.", ...last].join("\n");
  const table = formatTable([
    ["MODEL", "TO", "STATE", "DONE", "MB", "MB/S", "FROM", "ID"],
    ...rows.map((copy) => [
      text(copy.model),
      text(copy.nodeName),
      text(copy.state),
      share(copy),
      megabytes(copy.totalBytes),
      megabytes(copy.bytesPerSecond),
      Array.isArray(copy.sources) ? copy.sources.map(text).join(",") : "",
      text(copy.id),
    ]),
  ], [3, 4, 5]);
  const notes = rows.flatMap(({ message, model, nodeName }) =>
    typeof message === "string"
      ? [`${text(model)} to ${text(nodeName)}: ${text(message)}`]
      : []
  );
  return [table, ...notes, ...last].join("\n");
}

/** Members that could not be asked to copy, a line each. */
export function failedLines({ failed }: JsonObject): readonly string[] {
  return (Array.isArray(failed) ? failed : []).filter(isJsonObject)
    .map(({ node, reason }) => `Not begun on ${text(node)}: ${text(reason)}`);
}

function share({ doneBytes, totalBytes }: JsonObject): string {
  return typeof doneBytes === "number" && typeof totalBytes === "number" &&
      totalBytes > 0
    ? `${Math.floor(doneBytes / totalBytes * 100)} %`
    : "";
}

function megabytes(bytes: JsonValue | undefined): string {
  return typeof bytes === "number" ? (bytes / MEGABYTE).toFixed(0) : "";
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? escapeUnprintable(value) : "";
}
