import {
  type DnsMessage,
  type DnsQuestion,
  type DnsRecord,
  queryOf,
} from "./message.ts";
import { wireBytes } from "./packet.ts";

/** Room for records in one datagram, with header and question left out. */
const LIMIT_BYTES = 1_200;
/** Known answers listed at most; who knows more hears some again. */
const MOST_KNOWN = 256;

/**
 * Ask, and list what is known already, over as many messages as that takes;
 * all but the last say that more follows (RFC 6762, 7.2).
 *
 * @param questions What is asked.
 * @param known Records that need not be told again.
 * @returns At least one message.
 */
export function queriesOf(
  questions: readonly DnsQuestion[],
  known: readonly DnsRecord[],
): readonly DnsMessage[] {
  const parts: DnsRecord[][] = [[]];
  let bytes = 0;
  for (const record of known.slice(0, MOST_KNOWN)) {
    const size = wireBytes(record);
    if (bytes + size > LIMIT_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    bytes += size;
    parts.at(-1)?.push(record);
  }
  return parts.map((answers, index) =>
    queryOf({
      questions: index === 0 ? questions : [],
      answers,
      truncated: index < parts.length - 1,
    })
  );
}
