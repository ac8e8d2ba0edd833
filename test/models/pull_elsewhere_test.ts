import assert from "node:assert/strict";
import type { PullOffer } from "../../src/domain/mod.ts";
import { chooseOffer } from "../../src/models/pull/pull_elsewhere.ts";
import { parsePullSource } from "../../src/models/pull/pull_source.ts";

const OLD = "a".repeat(40);
const NEW = "b".repeat(40);

function offer(
  root: string,
  paths: readonly string[],
  settings: {
    readonly revision?: string | null;
    readonly members?: number;
    readonly source?: string;
  } = {},
): PullOffer {
  const { members = 1, revision = OLD, source = "org/repo" } = settings;
  return {
    model: paths[0]?.slice(0, -5) ?? "",
    root,
    sizeBytes: 10 * paths.length,
    members,
    files: paths.map((path) => ({
      sizeBytes: 10,
      origin: {
        source,
        path: revision === null ? null : path,
        revision,
        etag: null,
        sha256: null,
      },
    })),
  };
}

function choose(offers: readonly PullOffer[], source: string) {
  return chooseOffer(offers, parsePullSource({ source }))?.root;
}

const Q4 = offer("q4", ["m-Q4_K_M.gguf"]);
const Q8 = offer("q8", ["m-Q8_0.gguf"]);
const SPLIT = offer("split", [
  "big/m-Q6_K-00001-of-00002.gguf",
  "big/m-Q6_K-00002-of-00002.gguf",
]);

Deno.test("chooseOffer takes what the hub's list would give of the members' models", () => {
  const all = [Q8, SPLIT, Q4];
  assert.equal(choose(all, "org/repo"), "q4");
  assert.equal(choose([Q8, SPLIT], "org/repo"), "split");
  assert.equal(choose(all, "org/repo:q8_0"), "q8");
  assert.equal(choose(all, "org/repo:Q6_K"), "split");
  assert.equal(choose(all, "org/other"), undefined);
  assert.equal(choose([], "org/repo"), undefined);
  assert.throws(() => choose(all, "org/repo:F16"), /it has .*Q4_K_M/);
  // A part of a split model is none.
  const half = offer("half", ["big/m-Q6_K-00002-of-00002.gguf"]);
  assert.throws(() => choose([half], "org/repo"), /no GGUF model/);
});

Deno.test("chooseOffer mixes no two commits, and takes the one that most members have where none is asked for", () => {
  const newer = offer("newer", ["m-Q4_K_M.gguf"], {
    revision: NEW,
    members: 2,
  });
  assert.equal(choose([Q4, newer], "org/repo"), "newer");
  assert.equal(choose([Q4, newer], `org/repo@${OLD}`), "q4");
  // Which commit a branch stands for, nobody can say.
  assert.equal(choose([Q4, newer], "org/repo@dev"), undefined);
  const parts = SPLIT.files.map(({ origin: { path } }, at) =>
    offer(`part ${at}`, [`${path}`], { revision: at === 0 ? OLD : NEW })
  );
  assert.throws(() => choose(parts, "org/repo"), /no GGUF model/);
});

Deno.test("chooseOffer takes a URL's file by its address without the query", () => {
  const source = "https://models.test/m-Q4_0.gguf";
  const here = offer("url", ["m-Q4_0.gguf"], { source, revision: null });
  assert.equal(choose([here], `${source}?token=1`), "url");
  assert.equal(choose([here], "https://models.test/m-Q5_0.gguf"), undefined);
});
