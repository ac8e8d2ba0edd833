/**
 * How fast a model goes from one member to others, and what it costs: over
 * loopback, over a shaped link with curl and rsync beside it, to three at once,
 * and what a chat at the sender notices. `--only` names parts (unshaped, pair,
 * trio, chat), `--json` prints the figures alone. Those over shaped links need
 * root, iproute2, curl and rsync.
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chatPart } from "./copy/chat_part.ts";
import type { Figure } from "./copy/figure.ts";
import {
  shapedPairPart,
  shapedTrioPart,
  whyNoNamespaces,
} from "./copy/shaped_part.ts";
import { unshapedPart } from "./copy/unshaped_part.ts";

const { values } = parseArgs({
  options: {
    megabytes: { type: "string", default: "1000" },
    "trio-megabytes": { type: "string", default: "1000" },
    link: { type: "string", default: "1000" },
    "trio-link": { type: "string", default: "1000" },
    only: { type: "string", default: "unshaped,pair,trio,chat" },
    rounds: { type: "string", default: "4" },
    json: { type: "boolean", default: false },
  },
});
const sizeBytes = Number(values.megabytes) * 1e6;
const parts = values.only.split(",");
const missing = await whyNoNamespaces();

const figures: Figure[] = [];
const skipped: string[] = [];

await using stack = new AsyncDisposableStack();
const root = await Deno.makeTempDir({ prefix: "covey-bench-copy-" });
stack.defer(() => Deno.remove(root, { recursive: true }));

/** Run a part in a folder that goes with it: models are large. */
async function part(
  name: string,
  run: (folder: string) => Promise<readonly Figure[]>,
): Promise<void> {
  if (!parts.includes(name)) return;
  const folder = join(root, name);
  await Deno.mkdir(folder);
  figures.push(...await run(folder));
  await Deno.remove(folder, { recursive: true });
}

async function namespacePart(
  name: string,
  run: (folder: string) => Promise<readonly Figure[]>,
): Promise<void> {
  if (missing === null) return await part(name, run);
  if (parts.includes(name)) skipped.push(`"${name}" was left out: ${missing}`);
}

await part("unshaped", (folder) => unshapedPart(folder, sizeBytes));
await namespacePart("pair", (folder) =>
  shapedPairPart({
    folder,
    sizeBytes,
    megabitsPerSecond: Number(values.link),
  }));
await namespacePart("trio", (folder) =>
  shapedTrioPart({
    folder,
    sizeBytes: Number(values["trio-megabytes"]) * 1e6,
    megabitsPerSecond: Number(values["trio-link"]),
  }));

await part(
  "chat",
  (folder) => chatPart(folder, sizeBytes, Number(values.rounds)),
);

if (!values.json) {
  // deno-lint-ignore no-console
  console.table(figures);
  for (const line of skipped) {
    // deno-lint-ignore no-console
    console.error(line);
  }
}
// deno-lint-ignore no-console
console.log(JSON.stringify({ figures, skipped }));
