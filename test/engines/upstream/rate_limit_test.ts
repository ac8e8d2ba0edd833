import assert from "node:assert/strict";
import { restOf } from "../../../src/engines/upstream/rate_limit.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

Deno.test("restOf reads each provider's own headers, of quotas that are used up", () => {
  const cases: [Record<string, string>, string | null][] = [
    [{}, null],
    [{ "x-ratelimit-reset-requests": "1s" }, "1"],
    [{ "x-ratelimit-reset-tokens": "6m0s" }, "360"],
    [{ "x-ratelimit-reset-tokens": "1h2m3s" }, "3723"],
    [{ "x-ratelimit-reset-tokens": "20ms" }, "1"],
    [{
      "x-ratelimit-reset-requests": "1d",
      "x-ratelimit-remaining-requests": "3",
      "x-ratelimit-reset-tokens": "7.66s",
      "x-ratelimit-remaining-tokens": "0",
    }, "8"],
    [{
      "x-ratelimit-reset-tokens-minute": "12.5",
      "x-ratelimit-remaining-tokens-minute": "0",
    }, "13"],
    [{
      "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:30Z",
      "anthropic-ratelimit-requests-remaining": "0",
    }, "30"],
    [{ "x-ratelimit-reset": String(NOW + 5_000) }, "5"],
    [{ "x-ratelimit-reset": String(NOW / 1_000 + 9) }, "9"],
    [{ "x-ratelimit-reset": String(NOW - 5_000) }, null],
    [{ "x-ratelimit-reset-requests": "soon" }, null],
    [{ "anthropic-ratelimit-requests-reset": "soon" }, null],
    [{ "x-ratelimit-reset": "-1" }, null],
  ];
  for (const [headers, wanted] of cases) {
    const what = JSON.stringify(headers);
    assert.equal(restOf(new Headers(headers), NOW), wanted, what);
  }
});
