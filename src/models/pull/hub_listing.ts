import { Fault, isJsonObject, type JsonValue } from "../../domain/mod.ts";

/** A file of a repository. */
export interface HubFile {
  /** Path in the repository. */
  readonly path: string;
  readonly sizeBytes: number;
  /** SHA-256 as the hub publishes it, or null where it does not. */
  readonly sha256: string | null;
}

/** A repository at one commit. */
export interface HubListing {
  /** The commit, or null where the hub does not say. */
  readonly commit: string | null;
  readonly files: readonly HubFile[];
}

const MOST_FILES = 20_000;
const SHA256 = /^[0-9a-f]{64}$/;
const COMMIT = /^[0-9a-f]{40,64}$/;

/**
 * Read what a hub says of a repository (`/api/models/{repo}/revision/{revision}?blobs=true`).
 *
 * @param body The answer.
 * @returns GGUF files alone.
 * @throws {Fault} `hub_failed` when the form is not known.
 */
export function parseHubListing(body: JsonValue): HubListing {
  const siblings = isJsonObject(body) ? body["siblings"] : undefined;
  if (
    !isJsonObject(body) || !Array.isArray(siblings) ||
    siblings.length > MOST_FILES
  ) {
    throw new Fault("hub_failed", "The hub answered in an unknown form");
  }
  const { sha } = body;
  return {
    commit: typeof sha === "string" && COMMIT.test(sha) ? sha : null,
    files: siblings.flatMap((one: JsonValue) => {
      if (!isJsonObject(one)) return [];
      const lfs = isJsonObject(one["lfs"]) ? one["lfs"] : {};
      const path = one["rfilename"];
      const sizeBytes = lfs["size"] ?? one["size"];
      const sha256 = lfs["sha256"] ?? lfs["oid"];
      if (typeof path !== "string" || !path.endsWith(".gguf")) return [];
      if (typeof sizeBytes !== "number" || !Number.isSafeInteger(sizeBytes)) {
        return [];
      }
      const isKnown = typeof sha256 === "string" && SHA256.test(sha256);
      return [{ path, sizeBytes, sha256: isKnown ? sha256 : null }];
    }),
  };
}
