import type { TestReport } from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { z } from "zod";
import { encodeJson, parseBoundedJson } from "../link/bounded_json.ts";
import { TEST_PATH } from "../link/link_server.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { WireError } from "../link/wire_error.ts";

/** Somewhat more than a member may take over its test. */
const TEST_LIMIT_MS = 16_000;
const REPLY_LIMIT_BYTES = 4096;
const LONGEST_REASON = 600;

const reportSchema = z.object({
  passed: z.boolean(),
  by: z.enum(["token", "probe"]).catch("probe"),
  reason: z.string().nullable().catch(null),
});

/** What a member made of a test. */
export type TestVerdict =
  | { readonly kind: "reported"; readonly report: TestReport }
  /** Its build knows no such request. */
  | { readonly kind: "too_old" };

/** Write what came of a test. */
export function encodeTest(report: TestReport): Uint8Array<ArrayBuffer> {
  const reason = report.reason?.slice(0, LONGEST_REASON) ?? null;
  return new TextEncoder().encode(encodeJson({ ...report, reason }));
}

/**
 * Read what came of a test.
 *
 * @param bytes The body, already bounded.
 * @throws {WireError} When it does not say.
 */
export function parseTest(bytes: Uint8Array): TestReport {
  const parsed = reportSchema.safeParse(parseBoundedJson(bytes));
  if (!parsed.success) {
    throw new WireError("Cannot read what came of a test: its form is unknown");
  }
  const reason = parsed.data.reason?.slice(0, LONGEST_REASON)
    .replace(/\p{C}+/gu, " ").trim() ?? null;
  return { ...parsed.data, reason };
}

/**
 * Have a member test its engines.
 *
 * @param channel To it.
 * @throws {LinkError} When there is no answer in time.
 * @throws {WireError} When the answer makes no sense.
 */
export async function askTest(
  channel: MemberChannel,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<TestVerdict> {
  using deadline = clock.deadline(TEST_LIMIT_MS, signal);
  const exchange = await channel.request({
    method: "POST",
    path: TEST_PATH,
    headLimitMs: TEST_LIMIT_MS,
    signal: deadline.signal,
  });
  const bytes = await exchange.readAll(REPLY_LIMIT_BYTES, TEST_LIMIT_MS);
  if (exchange.status === 404) return { kind: "too_old" };
  if (exchange.status !== 200) {
    throw new WireError(`The member answered with status ${exchange.status}`);
  }
  return { kind: "reported", report: parseTest(bytes) };
}
