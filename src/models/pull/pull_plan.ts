import { Fault } from "../../domain/mod.ts";
import { baseOf } from "../model_files.ts";
import { chooseFiles } from "./choose_files.ts";
import type { RemoteFile } from "./file_download.ts";
import { parseHubListing } from "./hub_listing.ts";
import type { HubHttp } from "./hub_http.ts";
import type { PullSource } from "./pull_source.ts";
import { isSafeName } from "../safe_name.ts";

/** A file to fetch, and where it is to lie. */
export interface PlannedFile extends RemoteFile {
  readonly name: string;
}

/** All files of a model, first part first. */
export interface PullPlan {
  /** Folders below the models folder, from the top; none for a plain URL. */
  readonly folders: readonly string[];
  readonly files: readonly [PlannedFile, ...PlannedFile[]];
}

/**
 * Find out which files a source stands for. Those of a repository are fixed to
 * the commit that was listed, so that all are of one state.
 *
 * @param source What to pull.
 * @param http The way to the hub.
 * @param signal Aborting it ends the question.
 * @throws {Fault} When there is no such model.
 * @throws {TypeError} When the hub does not answer.
 */
export async function planPull(
  source: PullSource,
  http: HubHttp,
  signal: AbortSignal,
): Promise<PullPlan> {
  if (source.kind === "url") {
    const { fileName, url } = source;
    const file = { name: fileName, url, sizeBytes: null, sha256: null };
    return { folders: [], files: [file] };
  }
  const { choice, repo, revision } = source;
  const at = encodeURIComponent(revision);
  const page = http.urlOf(`/api/models/${repo}/revision/${at}?blobs=true`);
  const listing = parseHubListing(await http.getJson(page, signal), revision);
  const [first, ...rest] = chooseFiles(listing.files, choice).map(
    ({ path, sha256, sizeBytes }): PlannedFile => {
      const name = baseOf(path);
      if (!isSafeName(name)) {
        throw new Fault(
          "hub_failed",
          `The repository has a file whose name is unsafe here: ${
            JSON.stringify(name.slice(0, 80))
          }`,
        );
      }
      const steps = path.split("/").map(encodeURIComponent).join("/");
      const commit = encodeURIComponent(listing.commit);
      const url = http.urlOf(`/${repo}/resolve/${commit}/${steps}`);
      return { name, url, sizeBytes, sha256 };
    },
  );
  if (first === undefined) {
    throw new Fault("not_found", "The repository holds no GGUF model");
  }
  return { folders: repo.split("/"), files: [first, ...rest] };
}
