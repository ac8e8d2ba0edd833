import assert from "node:assert/strict";
import fc from "fast-check";
import { isJsonObject, parseExactJson } from "@covey/core/domain";
import { encodeAttempt, parseAttempt } from "../../src/link/attempt_wire.ts";
import { attemptFrom, nodeIdOf } from "./link_fixture.ts";

Deno.test("an attempt says over the link what is cached and what it goes on with", () => {
  const attempt = {
    ...attemptFrom(nodeIdOf(1)),
    cachedTokens: 400,
    resume: { text: "so far 😀", tokens: 40 },
  };
  assert.deepEqual(parseAttempt(encodeAttempt(attempt)), attempt);
});

Deno.test("an attempt says over the link what its caller wants of the model in memory", () => {
  const plain = attemptFrom(nodeIdOf(1));
  const attempt = {
    ...plain,
    request: {
      ...plain.request,
      upkeep: { keepAliveMs: null, contextLength: 65_536, only: "load" },
    },
  } as const;
  assert.deepEqual(parseAttempt(encodeAttempt(attempt)), attempt);
});

Deno.test("an older member's attempt has neither", () => {
  const attempt = attemptFrom(nodeIdOf(1));
  assert.deepEqual(parseAttempt(encodeAttempt(attempt)), attempt);
});

Deno.test("a body's numbers cross the link as the client wrote them, however large", () => {
  const big = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String);
  fc.assert(fc.property(fc.array(big), fc.jsonValue(), (numbers, rest) => {
    const text = `{"odd":[${numbers.join()}],"rest":${JSON.stringify(rest)}}`;
    const body = parseExactJson(text);
    assert(isJsonObject(body));
    const attempt = attemptFrom(nodeIdOf(1));
    const sent = encodeAttempt({
      ...attempt,
      request: { ...attempt.request, body },
    });
    const { request } = parseAttempt(sent);
    assert.equal(JSON.stringify(request.body), JSON.stringify(body));
    assert(
      JSON.stringify(request.body).startsWith(`{"odd":[${numbers.join()}]`),
    );
  }));
});
