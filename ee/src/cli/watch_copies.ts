import {
  type CliContext,
  DONE,
  FAILED,
  type Progress,
  ProgressTeller,
  sayFailure,
  UNKNOWN_FORM,
} from "@covey/core/cli";
import {
  escapeUnprintable,
  isJsonObject,
  type JsonObject,
} from "@covey/core/domain";

const LOOK_EVERY_MS = 1_000;
const ENDED = /^(?:done|failed|cancelled)$/;

/**
 * Show how far copies are until all of them have ended. They go on whatever
 * becomes of this.
 *
 * @param ids Of the copies.
 * @param json Whether to print the copies as JSON in the end.
 * @param context What commands may touch.
 * @returns `DONE` where every one of them is done.
 */
export async function watchCopies(
  ids: ReadonlySet<string>,
  json: boolean,
  context: CliContext,
): Promise<number> {
  let copies: readonly JsonObject[];
  {
    using teller = new ProgressTeller(
      context,
      "The nodes go on with it: `covey copies` shows how far they are, `covey copies cancel ID` ends one",
    );
    for (;;) {
      const reply = await context.fetchJson("/cluster/copies");
      if (reply.kind !== "answered") return sayFailure(reply, context);
      const found = isJsonObject(reply.body) ? reply.body["copies"] : undefined;
      if (!Array.isArray(found)) {
        context.stderr(UNKNOWN_FORM);
        return FAILED;
      }
      copies = found.filter(isJsonObject).filter(({ id }) =>
        ids.has(String(id))
      );
      const open = copies.filter(({ state }) => !ENDED.test(String(state)));
      // A member that does not answer just now keeps its copies to itself.
      if (open.length === 0 && copies.length === ids.size) break;
      if (open.some(({ state }) => state === "paused")) break;
      teller.tell(progressOf(copies, ids.size));
      await context.sleep(LOOK_EVERY_MS);
    }
  }
  if (json) context.stdout(JSON.stringify({ copies }));
  else {
    context.stdout(
      copies.map((copy) => escapeUnprintable(sentenceOf(copy))).join("\n"),
    );
  }
  return copies.every(({ state }) => state === "done") ? DONE : FAILED;
}

/** All of them together: they share one source, and end at about the same time. */
function progressOf(
  copies: readonly JsonObject[],
  count: number,
): Progress {
  const sum = (field: string) =>
    copies.reduce((total, copy) => {
      const value = copy[field];
      return typeof value === "number" ? total + value : total;
    }, 0);
  const open = copies.filter(({ state }) => !ENDED.test(String(state)));
  const totalBytes = sum("totalBytes");
  const doneBytes = sum("doneBytes");
  const rate = sum("bytesPerSecond");
  const states = [...new Set(open.map(({ state }) => String(state)))];
  const from = open.flatMap(({ sources }) =>
    Array.isArray(sources) ? sources.map(String) : []
  );
  const what = states.length === 1 ? `${states[0]}` : "copying";
  return {
    what: count === 1
      ? what
      : `${what} (${count - open.length} of ${count} nodes done)`,
    doneBytes: totalBytes > 0 ? doneBytes : null,
    totalBytes: totalBytes > 0 ? totalBytes : null,
    bytesPerSecond: rate > 0 ? rate : null,
    remainingMs: rate > 0 ? (totalBytes - doneBytes) / rate * 1_000 : null,
    from: [...new Set(from)],
  };
}

function sentenceOf(
  { id, message, model, nodeName, sources, state, totalBytes }: JsonObject,
): string {
  const where = `${String(model)} to ${String(nodeName)}`;
  const why = typeof message === "string" ? `: ${message}` : "";
  switch (state) {
    case "done": {
      // It had the model before.
      if (totalBytes === 0) return `Nothing to copy: ${where}${why}`;
      const from = Array.isArray(sources) && sources.length > 0
        ? ` from ${sources.map(String).join(", ")}`
        : "";
      return `Copied ${where}${from}${why}`;
    }
    case "paused":
      return `Paused: ${where}; \`covey copies resume ${
        String(id)
      }\` goes on with it`;
    default:
      return `Not copied (${String(state)}): ${where}${why}`;
  }
}
