import assert from "node:assert/strict";
import fc from "fast-check";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import {
  checkLicence,
  isOver,
  type LicenceTerms,
  openLicence,
} from "../../src/licence/licence.ts";
import { createLicenceCommand } from "../../src/cli/licence.ts";
import { createOfflineContext } from "../cli/offline_context.ts";
import { makeIssuer } from "./issuer.ts";
import { LICENCE_KEYS } from "../../src/licence/licence_keys.ts";

const ISSUER = await makeIssuer();
const OTHER = await makeIssuer();
const TERMS: LicenceTerms = {
  id: "L-2031",
  holder: "Example Lab",
  maxClusterNodes: 5,
  notAfter: "2031-01-31",
};
const LICENCE = await ISSUER.issue(TERMS);

Deno.test("checkLicence reads what an issuer in the list has signed", async () => {
  assert.deepEqual(
    await checkLicence(`\n${LICENCE} \n`, [OTHER.publicKey, ISSUER.publicKey]),
    {
      kind: "licence",
      licence: {
        id: "L-2031",
        holder: "Example Lab",
        maxClusterNodes: 5,
        notAfterMs: Date.UTC(2031, 0, 31, 23, 59, 59, 999),
      },
    },
  );
  const free = await ISSUER.issue({
    ...TERMS,
    maxClusterNodes: null,
    notAfter: null,
  });
  const result = await checkLicence(free, [ISSUER.publicKey]);
  assert.ok(result.kind === "licence");
  assert.equal(result.licence.maxClusterNodes, null);
  assert.equal(isOver(result.licence, Number.MAX_SAFE_INTEGER), false);
});

Deno.test("checkLicence refuses what nobody in the list has signed, and says which it is", async () => {
  const said = async (text: string, keys = [ISSUER.publicKey]) => {
    const result = await checkLicence(text, keys);
    return result.kind === "bad" ? result.problem : "accepted";
  };
  assert.match(await said(LICENCE, [OTHER.publicKey]), /no issuer/);
  assert.match(await said(LICENCE, []), /holds no issuer's key/);
  const [head, version, body = "", signature = ""] = LICENCE.split(".");
  const more = btoa(JSON.stringify({ ...TERMS, maxClusterNodes: 500 }))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const hostile: Readonly<Record<string, [string, RegExp]>> = {
    "other terms under the old signature": [
      [head, version, more, signature].join("."),
      /no issuer/,
    ],
    empty: ["", /begin/],
    "another text": ["eyJhbGciOiJub25lIn0.e30.", /begin/],
    "a newer form": [`covey-licence.2.${body}.${signature}`, /version 2/],
    "no signature": [`covey-licence.1.${body}`, /cut off/],
    "an empty signature": [`covey-licence.1.${body}.`, /cut off/],
    "half": [LICENCE.slice(0, LICENCE.length / 2), /cut off/],
    "one letter short": [LICENCE.slice(0, -1), /cut off/],
    "a part too many": [`${LICENCE}.${signature}`, /cut off/],
    "blanks inside": [LICENCE.replace(".1.", ".1. "), /cut off/],
    "NULs": ["\0".repeat(64), /begin/],
    "a megabyte": [`${LICENCE}${"A".repeat(2 ** 20)}`, /too long/],
  };
  for (const [name, [text, problem]] of Object.entries(hostile)) {
    assert.match(await said(text), problem, name);
  }
});

Deno.test("checkLicence takes no licence with any one byte changed", async () => {
  await fc.assert(fc.asyncProperty(
    fc.nat(LICENCE.length - 1),
    fc.constantFrom(..."Aa0-_.z"),
    async (at, letter) => {
      const changed = LICENCE.slice(0, at) + letter + LICENCE.slice(at + 1);
      const result = await checkLicence(changed, [ISSUER.publicKey]);
      assert.equal(result.kind, changed === LICENCE ? "licence" : "bad");
    },
  ));
});

Deno.test("a signed text with hostile terms is refused", async () => {
  const wrong: readonly Partial<LicenceTerms>[] = [
    { id: "community" },
    { id: "" },
    { id: "a b" },
    { id: "x".repeat(65) },
    { holder: "a\nb" },
    { holder: "\u202eflipped" },
    { maxClusterNodes: 0 },
    { maxClusterNodes: 2.5 },
    { maxClusterNodes: NaN },
    { maxClusterNodes: -1 },
    { notAfter: "tomorrow" },
    { notAfter: "2031-02-30" },
  ];
  for (const change of wrong) {
    await assert.rejects(
      ISSUER.issue({ ...TERMS, ...change }),
      RangeError,
      JSON.stringify(change),
    );
  }
});

Deno.test("openLicence logs one line that names COVEY_LICENCE and never quotes it", async () => {
  const log = new QuietLog();
  const options = { publicKeys: [ISSUER.publicKey], nowMs: 0, log };
  assert.equal(await openLicence(null, options), null);
  assert.equal(log.lines.length, 0);
  assert.equal(await openLicence("covey-licence.1.secretive", options), null);
  assert.match(log.lines[0]?.message ?? "", /COVEY_LICENCE is not accepted/);
  assert.ok(!JSON.stringify(log.lines).includes("secretive"));
  const late = { ...options, nowMs: Date.UTC(2031, 1, 1) };
  assert.equal((await openLicence(LICENCE, late))?.id, "L-2031");
  assert.match(log.lines[1]?.message ?? "", /over by this node's clock/);
});

Deno.test("the keys of the build are well formed and none is a test's", async () => {
  for (const key of LICENCE_KEYS) {
    assert.equal(key.length, 43);
    assert.match(
      (await checkLicence(LICENCE, [key]) as { problem?: string }).problem ??
        "",
      /no issuer/,
    );
  }
});

Deno.test("covey licence says what the configured licence is worth", async () => {
  const command = createLicenceCommand([ISSUER.publicKey]);
  const run = async (licence: string | null, ...args: string[]) => {
    const context = createOfflineContext({ licence });
    const code = await command.run(args, context);
    return { code, said: [...context.out, ...context.err].join("\n") };
  };
  assert.deepEqual(await run(LICENCE), {
    code: 0,
    said: "Licence L-2031 of Example Lab: 5 nodes, admits until 2031-01-31",
  });
  const json = await run(LICENCE, "show", "--json");
  assert.equal(JSON.parse(json.said).licence.over, false);
  assert.match((await run(null)).said, /COVEY_LICENCE is unset/);
  const bad = await run(`${LICENCE}x`, "show");
  assert.equal(bad.code, 1);
  assert.ok(!bad.said.includes(LICENCE.slice(20, 60)));
  assert.equal((await run(LICENCE, "buy")).code, 2);
});
