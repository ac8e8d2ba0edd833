import assert from "node:assert/strict";
import { PromptCache } from "../../src/engines/simulated/prompt_cache.ts";
import { chatRequest } from "../fakes/chat_request.ts";

function turn(...contents: readonly string[]) {
  return chatRequest({
    promptTokens: 100 * contents.length,
    body: {
      messages: contents.map((content, at) => ({
        role: at % 2 === 0 ? "user" : "assistant",
        content,
      })),
    },
  });
}

Deno.test("PromptCache spares what a prompt shares with an earlier one, its answer included", () => {
  const cache = new PromptCache(1);
  const first = turn("a".repeat(95));
  assert.equal(cache.look(first), 0);
  cache.keep(first, `${"b".repeat(90)} `);
  assert.equal(cache.look(first), 99, "the last token is always evaluated");
  const grown = turn("a".repeat(95), "b".repeat(90), "c".repeat(95));
  assert.equal(cache.look(grown), 200);
  assert.equal(cache.look(turn("d".repeat(95))), 0);
  cache.keep(grown, "e");
  assert.equal(cache.look(grown), 299);
  cache.keep(turn("d".repeat(95)), "f");
  assert.equal(cache.look(grown), 0, "room for one prompt");
});

Deno.test("PromptCache without room keeps nothing", () => {
  const cache = new PromptCache(0);
  cache.keep(turn("a"), "b");
  assert.equal(cache.look(turn("a")), 0);
});
