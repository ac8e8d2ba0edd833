import type { ModelManifest, PullWant } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { LinkCredentials } from "../link/dial.ts";
import { BulkSource } from "./bulk_source.ts";
import type { Candidate } from "./copy_job.ts";
import { formatModelPath } from "./model_path.ts";
import type { FinishedModel } from "./pull_relay.ts";

/** A model that members have whole. */
export interface FoundWhole {
  /** Checked against its root. */
  readonly model: ModelManifest;
  /** What goes with it, checked against its own root; null for nothing. */
  readonly along: ModelManifest | null;
  /** Members that have it. */
  readonly holders: readonly Candidate[];
}

/**
 * A model that members have whole, as the authority for a pull of the same:
 * with the vision part, where it is the published one.
 *
 * @param want What is pulled.
 * @param found What members have.
 * @param means How bytes are fetched.
 * @returns Null where it is not what is wanted.
 */
export function finishedModel(
  { parts, sha256s }: Pick<PullWant, "parts" | "sha256s">,
  { along, holders, model }: FoundWhole,
  means: { readonly clock: Clock; readonly credentials: LinkCredentials },
): FinishedModel | null {
  const { files: weights, root } = model;
  const isWanted = parts?.weights === weights.length &&
    weights.every(({ sha256, sizeBytes }, at) =>
      sizeBytes === parts.sizes[at] &&
      (sha256s[at] === null || sha256 === sha256s[at])
    );
  if (!isWanted) return null;
  const published = parts.sha256s[weights.length] ?? null;
  const visionAt =
    along?.files.findIndex(({ sha256, sizeBytes }) =>
      sha256 === published && sizeBytes === parts.sizes[weights.length]
    ) ?? -1;
  const vision = along?.files[visionAt];
  const files = vision === undefined ? weights : [...weights, vision];
  const pathOf = (file: number) =>
    formatModelPath(
      file < weights.length || along === null
        ? { kind: "file", root, file }
        : { kind: "file", root: along.root, file: visionAt },
    );
  return {
    id: root,
    files: files.length,
    digestOf: (file, position) => files[file]?.chunks[position] ?? "",
    sources: holders.map(({ channel, name }) =>
      new BulkSource({ name, channel, ...means, pathOf })
    ),
  };
}
