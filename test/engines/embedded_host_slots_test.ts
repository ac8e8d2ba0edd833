import assert from "node:assert/strict";
import { hostOfFile, untilSlots } from "./embedded_host_driver.ts";

const host = hostOfFile("chat");
const say = (content: string) => [{ role: "user", content }];
const CHAT = "/v1/chat/completions";

Deno.test("engine host decodes two requests side by side", async () => {
  const ask = {
    messages: say("Go on"),
    ignore_eos: true,
    max_tokens: 300,
    stream: true,
  };
  const order: string[] = [];
  const follow = async (name: string) => {
    const response = await host.ask(CHAT, ask);
    assert.ok(response.body);
    for await (const _ of response.body) order.push(name);
  };
  await Promise.all([follow("a"), follow("b")]);
  const changes = order.filter((name, at) => name !== order[at - 1]).length;
  assert.ok(changes > 20, `changed ${changes} times over ${order.length}`);
});

Deno.test("engine host stops and frees the slot when the client leaves", async () => {
  // Long enough for a body that does not arrive together with its headers.
  const ask = {
    messages: say("Go on. ".repeat(200)),
    ignore_eos: true,
    max_tokens: 2000,
  };
  const busy = (slots: readonly { readonly is_processing: boolean }[]) =>
    slots.some((slot) => slot.is_processing);
  const { body } = await host.ask(CHAT, { ...ask, stream: true });
  const reader = body?.getReader();
  await reader?.read();
  await untilSlots(host, busy);
  await reader?.cancel();
  await untilSlots(host, (slots) => !busy(slots));

  const leaving = new AbortController();
  const { signal } = leaving;
  const gone = assert.rejects(host.ask(CHAT, ask, { signal }));
  await untilSlots(host, busy);
  leaving.abort();
  await gone;
  await untilSlots(host, (slots) => !busy(slots));
});

Deno.test("engine host lets a waiting request go when its client leaves", async () => {
  const ask = {
    messages: say("Go on"),
    ignore_eos: true,
    max_tokens: 2000,
  };
  const busy = [new AbortController(), new AbortController()];
  const running = busy.map((one) =>
    assert.rejects(host.ask(CHAT, ask, { signal: one.signal }))
  );
  await untilSlots(host, (slots) => slots.every((slot) => slot.is_processing));
  const leaving = new AbortController();
  const waiting = assert.rejects(
    host.ask(CHAT, ask, { signal: leaving.signal }),
  );
  await untilSlots(host, (slots) => slots[0].n_waiting === 1);
  leaving.abort();
  await waiting;
  await untilSlots(host, (slots) => slots[0].n_waiting === 0);
  for (const one of busy) one.abort();
  await Promise.all(running);
  await untilSlots(host, (slots) => slots.every((slot) => !slot.is_processing));
});
