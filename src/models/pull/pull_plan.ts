import { Fault, type FileOrigin } from "../../domain/mod.ts";
import { baseOf } from "../model_files.ts";
import { isSafeName } from "../safe_name.ts";
import { chooseFiles, chooseProjector } from "./choose_files.ts";
import type { RemoteFile } from "./file_download.ts";
import { type HubFile, parseHubListing } from "./hub_listing.ts";
import type { HubHttp } from "./hub_http.ts";
import type { PullSource } from "./pull_source.ts";

/** A file to fetch, and where it is to lie. */
export interface PlannedFile extends RemoteFile {
  readonly name: string;
  /** Where it is from, as far as that is known before it is asked for. */
  readonly origin: Pick<FileOrigin, "source" | "path" | "revision">;
}

/** All files of a model, first part first. */
export interface PullPlan {
  /** Folders below the models folder, from the top; none for a plain URL. */
  readonly folders: readonly string[];
  readonly files: readonly [PlannedFile, ...PlannedFile[]];
  /** The vision part that goes with it, or null. */
  readonly projector: PlannedFile | null;
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
    const file: PlannedFile = {
      name: fileName,
      url,
      sizeBytes: null,
      sha256: null,
      // Its query may hold a secret.
      origin: {
        source: `${url.origin}${url.pathname}`,
        path: null,
        revision: null,
      },
    };
    return { folders: [], files: [file], projector: null };
  }
  const { choice, repo, revision } = source;
  const page = http.urlOf(
    `/api/models/${repo}/revision/${encodeURIComponent(revision)}?blobs=true`,
  );
  const { commit, files } = parseHubListing(await http.getJson(page, signal));
  const plan = ({ path, sha256, sizeBytes }: HubFile): PlannedFile => {
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
    const at = encodeURIComponent(commit ?? revision);
    return {
      name,
      url: http.urlOf(`/${repo}/resolve/${at}/${steps}`),
      sizeBytes,
      sha256,
      origin: { source: repo, path, revision: commit },
    };
  };
  const [first, ...rest] = chooseFiles(files, choice).map(plan);
  if (first === undefined) {
    throw new Fault("not_found", "The repository holds no GGUF model");
  }
  const projector = chooseProjector(files);
  return {
    folders: repo.split("/"),
    files: [first, ...rest],
    projector: projector === null ? null : plan(projector),
  };
}
