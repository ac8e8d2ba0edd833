import type { ModelManifest, PullWant } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import type { LinkCredentials } from "../link/dial.ts";
import type { Candidate } from "./copy_job.ts";
import { MemberSource } from "./member_source.ts";
import type { FinishedModel } from "./pull_relay.ts";

/**
 * A model that members have whole, as the authority for a pull of the same.
 *
 * @param want What is pulled.
 * @param manifest Checked against its root.
 * @param holders Members that have it.
 * @param means How bytes are fetched.
 * @returns Null where it is not what is wanted.
 */
export function finishedModel(
  { parts, sha256s }: Pick<PullWant, "parts" | "sha256s">,
  { files, root }: ModelManifest,
  holders: readonly Candidate[],
  means: { readonly clock: Clock; readonly credentials: LinkCredentials },
): FinishedModel | null {
  const isWanted = parts?.weights === files.length &&
    files.every(({ sha256, sizeBytes }, at) =>
      sizeBytes === parts.sizes[at] &&
      (sha256s[at] === null || sha256 === sha256s[at])
    );
  if (!isWanted) return null;
  return {
    id: root,
    files: files.length,
    digestOf: (file, position) => files[file]?.chunks[position] ?? "",
    sources: holders.map(({ channel, name }) =>
      new MemberSource({
        name,
        channel,
        ...means,
        root,
      })
    ),
  };
}
