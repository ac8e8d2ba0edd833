import assert from "node:assert/strict";
import {
  DEFAULT_COOLDOWN_MS,
  extendCooldown,
  MAX_COOLDOWN_MS,
} from "../../src/router/cooldown.ts";
import { parseRetryAfter } from "../../src/domain/retry_after.ts";

/** Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110's examples. */
const RFC_DATE_MS = 784_111_777_000;

Deno.test("parseRetryAfter reads every form and nothing else (RET-01)", () => {
  const nowMs = RFC_DATE_MS - 3000;
  const table: readonly (readonly [string | null, number | null])[] = [
    ["3", 3000],
    ["120 ", 120_000],
    ["0", 0],
    ["Sun, 06 Nov 1994 08:49:37 GMT", 3000],
    ["Sunday, 06-Nov-94 08:49:37 GMT", 3000],
    ["Sun Nov  6 08:49:37 1994", 3000],
    ["Sun, 06 Nov 1994 08:49:60 GMT", 26_000],
    ["Fri, 04 Nov 1994 08:49:37 GMT", 0],
    ["Thu, 29 Feb 1996 00:00:00 GMT", 825_552_000_000 - nowMs],
    ["1.5", null],
    ["-3", null],
    ["+3", null],
    ["soon", null],
    ["", null],
    [null, null],
    ["3, 5", null],
    ["Sun, 06 Foo 1994 08:49:37 GMT", null],
    ["Sun, 32 Nov 1994 08:49:37 GMT", null],
    ["Sun, 06 Nov 1994 24:49:37 GMT", null],
    ["1994-11-06T08:49:37Z", null],
  ];
  for (const [text, expected] of table) {
    assert.equal(parseRetryAfter(text, nowMs), expected, String(text));
  }
});

Deno.test("parseRetryAfter agrees with the platform's calendar on every day of 80 years", () => {
  for (let day = 0; day < 80 * 365; day += 1) {
    const atMs = day * 86_400_000;
    assert.equal(parseRetryAfter(new Date(atMs).toUTCString(), 0), atMs);
  }
});

Deno.test("extendCooldown takes the default for nonsense, caps, and never shortens (RET-03)", () => {
  const time = { monotonicMs: 1000, wallMs: RFC_DATE_MS };
  assert.equal(extendCooldown(0, "7", time), 8000);
  assert.equal(extendCooldown(0, "soon", time), 1000 + DEFAULT_COOLDOWN_MS);
  assert.equal(
    extendCooldown(0, "99999999999", time),
    1000 + MAX_COOLDOWN_MS,
  );
  assert.equal(extendCooldown(20_000, "1", time), 20_000);
  assert.equal(extendCooldown(2000, "7", time), 8000);
});
