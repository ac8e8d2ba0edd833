import { Fault, type PullRequest } from "../../domain/mod.ts";
import { isSafeName } from "../safe_name.ts";

/** Where a model is pulled from. */
export type PullSource =
  | {
    readonly kind: "hub";
    /** `org/repo`. */
    readonly repo: string;
    readonly revision: string;
    /** Quantisation or file name that was asked for. */
    readonly choice: string | null;
  }
  | { readonly kind: "url"; readonly url: URL; readonly fileName: string };

const HUB_HOST =
  /^(?:https?:\/\/|hf:\/\/)?(?:(?:www\.)?huggingface\.co|hf\.co)\//i;
const REPO =
  /^([A-Za-z0-9][\w.-]{0,95})\/([A-Za-z0-9][\w.-]{0,95}?)(?:@([\w./-]{1,100}))?(?::([\w.-]{1,200}))?\/?$/;
const REVISION = /^[A-Za-z0-9][\w./-]{0,99}$/;
const LONGEST_SOURCE = 2_048;

/**
 * Understand what to pull: `org/repo`, `org/repo:Q4_K_M`, `org/repo@revision`,
 * the same behind `hf.co/` or `hf://`, or the URL of a GGUF file.
 *
 * @param request What was asked for.
 * @throws {Fault} `invalid_request` for anything else.
 */
export function parsePullSource(request: PullRequest): PullSource {
  const text = request.source.trim();
  if (text.length > LONGEST_SOURCE) throw wrong("it is too long");
  const bare = text.replace(HUB_HOST, "").replace(/^hf:\/\//i, "");
  const [, owner, name, at, choice] = REPO.exec(bare) ?? [];
  if (owner !== undefined && name !== undefined) {
    const revision = at ?? request.revision ?? "main";
    if (!isSafeName(owner) || !isSafeName(name)) {
      throw wrong("its name can be no folder here");
    }
    if (!REVISION.test(revision) || revision.includes("..")) {
      throw wrong("its revision can be none");
    }
    const repo = `${owner}/${name}`;
    return { kind: "hub", repo, revision, choice: choice ?? null };
  }
  return parseUrl(text);
}

/**
 * Name a source for people and logs: a URL's query may hold a secret.
 *
 * @param source The source.
 */
export function showPullSource(source: PullSource): string {
  if (source.kind === "url") {
    return `${source.url.origin}${source.url.pathname}`;
  }
  const { choice, repo, revision } = source;
  return `${repo}${revision === "main" ? "" : `@${revision}`}${
    choice === null ? "" : `:${choice}`
  }`;
}

function parseUrl(text: string): PullSource {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw wrong("give org/repo, org/repo:quantisation, or the URL of a file");
  }
  if (url.username !== "" || url.password !== "") {
    throw wrong("a URL may hold no password");
  }
  url.hash = "";
  const last = url.pathname.slice(url.pathname.lastIndexOf("/") + 1);
  const fileName = decode(last);
  if (!fileName.endsWith(".gguf") || !isSafeName(fileName)) {
    throw wrong("the URL must end in the name of a .gguf file");
  }
  return { kind: "url", url, fileName };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    if (error instanceof URIError) throw wrong("the URL is badly encoded");
    throw error;
  }
}

function wrong(why: string): Fault {
  return new Fault("invalid_request", `There is nothing to pull: ${why}`, {
    param: "source",
  });
}
