import assert from "node:assert/strict";
import { restOf } from "../../../src/engines/upstream/rate_limit.ts";
import { restInBody } from "../../../src/engines/upstream/rest_in_body.ts";

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
    // Groq: spans with fractions, minutes and seconds in one.
    [{
      "x-ratelimit-limit-requests": "14400",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "2m59.56s",
      "x-ratelimit-remaining-tokens": "17997",
      "x-ratelimit-reset-tokens": "7.66s",
    }, "180"],
    // OpenAI: hours, and whole milliseconds.
    [{
      "x-ratelimit-remaining-requests": "59",
      "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-tokens": "1h30m0s",
    }, "5400"],
    [{ "retry-after-ms": "1250" }, "2"],
    [{ "retry-after-ms": "-3" }, null],
    // Cerebras: seconds, of the day and of the minute.
    [{
      "x-ratelimit-remaining-requests-day": "0",
      "x-ratelimit-reset-requests-day": "33011.382867097855",
      "x-ratelimit-remaining-tokens-minute": "0",
      "x-ratelimit-reset-tokens-minute": "11.382867097854614",
    }, "33012"],
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

Deno.test("restInBody reads what Google and OpenRouter write into their errors, and nothing else", () => {
  const google = (retryDelay: unknown) => ({
    error: {
      code: 429,
      message: "You exceeded your current quota",
      status: "RESOURCE_EXHAUSTED",
      details: [
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure" },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay },
      ],
    },
  });
  const copied = (headers: unknown) => ({
    error: { code: 429, metadata: { headers } },
  });
  const cases: readonly (readonly [unknown, string | null])[] = [
    [[google("34.074824224s")], "35"],
    [google("34s"), "34"],
    [google("0s"), "1"],
    [google("-3s"), null],
    [google("soon"), null],
    [google(34), null],
    [copied({ "X-RateLimit-Reset": String(NOW + 5_000) }), "5"],
    [copied({ "X-RateLimit-Reset": NOW + 7_000 }), "7"],
    [copied({ "Retry-After": "12" }), "12"],
    [copied({ "Retry-After": "a\nb", "no header": "1" }), null],
    [copied(null), null],
    [{ error: "slow down" }, null],
    [[], null],
    [null, null],
  ];
  for (const [body, wanted] of cases) {
    const text = JSON.stringify(body);
    assert.equal(restInBody(text, NOW), wanted, text);
  }
  assert.equal(restInBody("<html>", NOW), null);
});
