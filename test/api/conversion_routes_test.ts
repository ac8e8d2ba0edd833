import assert from "node:assert/strict";
import {
  type ConversionRequest,
  Fault,
  type ModelConversions,
} from "../../src/domain/mod.ts";
import { apiUnderTest, LAN, LOOPBACK, post } from "./api_under_test.ts";

const RATED = { totalBytes: 3, bytesPerSecond: 1, remainingMs: null };

Deno.test("a conversion tells how far it is and what was made, and is nothing for the LAN", async () => {
  const asked: ConversionRequest[] = [];
  const conversions: ModelConversions = {
    convert(request, tell) {
      asked.push(request);
      if (request.to !== "q8_0") {
        return Promise.reject(new Fault("invalid_request", "No way"));
      }
      for (const doneBytes of [0, 1, 2]) {
        tell({ stage: "converting", doneBytes, ...RATED });
      }
      tell({ stage: "publishing", doneBytes: 3, ...RATED });
      return Promise.resolve({
        model: "m-Q8_0",
        sizeBytes: 3,
        originalBytes: 6,
        derivation: { from: "ab", recipe: "r", tookMs: 5 },
      });
    },
  };
  const { api } = apiUnderTest({ conversions });
  const send = async (body: unknown, from = LOOPBACK) => {
    const answer = await api.handle(
      post("/covey/models/convert", body),
      from,
    );
    const lines = (await answer.text()).trimEnd().split("\n");
    return {
      status: answer.status,
      lines: lines.map((one) => JSON.parse(one)),
    };
  };
  // What is told again within a moment is left out, a new stage is not.
  assert.deepEqual((await send({ model: "m", to: "q8_0", as: "n" })).lines, [
    { status: "converting", stage: "converting", doneBytes: 0, ...RATED },
    { status: "publishing", stage: "publishing", doneBytes: 3, ...RATED },
    {
      status: "success",
      model: "m-Q8_0",
      sizeBytes: 3,
      originalBytes: 6,
      from: "ab",
      recipe: "r",
      tookMs: 5,
    },
  ]);
  assert.deepEqual((await send({ model: "m", to: "x" })).lines, [
    { error: "No way", code: "invalid_request" },
  ]);
  for (const body of [{}, { model: "m" }, { model: "m", to: "q8_0", as: 1 }]) {
    assert.equal((await send(body)).status, 400);
  }
  assert.equal((await send({ model: "m", to: "q8_0" }, LAN)).status, 401);
  assert.deepEqual(asked, [
    { model: "m", to: "q8_0", name: "n" },
    { model: "m", to: "x" },
  ]);
});
