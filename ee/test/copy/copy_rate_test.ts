import assert from "node:assert/strict";
import { CopyRate } from "../../src/copy/copy_rate.ts";

Deno.test("CopyRate counts nothing of what lay here before, and tells a slow copy's rate steadily", () => {
  const rate = new CopyRate();
  rate.note(0, 900e6);
  assert.equal(rate.bytesPerSecond, 0);
  // A chunk each four seconds, looked at twice a second.
  const chunk = 4e6;
  const seen: number[] = [];
  for (let atMs = 500; atMs <= 60_000; atMs += 500) {
    rate.note(atMs, 900e6 + Math.floor(atMs / 4000) * chunk);
    if (atMs > 15_000) seen.push(rate.bytesPerSecond / 1e6);
  }
  assert.ok(Math.min(...seen) > 0.7, `${Math.min(...seen)}`);
  assert.ok(Math.max(...seen) < 1.3, `${Math.max(...seen)}`);
});

Deno.test("CopyRate forgets how fast a copy once was", () => {
  const rate = new CopyRate();
  for (let atMs = 0; atMs <= 20_000; atMs += 500) rate.note(atMs, atMs * 1000);
  assert.equal(rate.bytesPerSecond, 1e6);
  for (let atMs = 20_500; atMs <= 40_000; atMs += 500) rate.note(atMs, 20e6);
  assert.equal(rate.bytesPerSecond, 0);
});
