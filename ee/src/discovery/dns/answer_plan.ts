import {
  type DnsMessage,
  type DnsQuestion,
  type DnsRecord,
  MDNS_PORT,
  recordKey,
} from "./message.ts";
import type { OwnRecords } from "./service_records.ts";

/** How a query is to be answered. */
export type AnswerPlan =
  | { readonly kind: "silent" }
  /** To all. `urgent` defends names against a probe, `shared` asks for a random delay. */
  | {
    readonly kind: "multicast";
    readonly records: readonly DnsRecord[];
    readonly shared: boolean;
    readonly urgent: boolean;
  }
  /** To the asker, who said that this is welcome. */
  | { readonly kind: "unicast"; readonly records: readonly DnsRecord[] }
  /** To a plain resolver: short-lived, with its id and question (RFC 6762, 6.7). */
  | {
    readonly kind: "legacy";
    readonly records: readonly DnsRecord[];
    readonly questions: readonly DnsQuestion[];
  };

/**
 * Decide the answer to a query.
 *
 * @param query The query.
 * @param fromPort Port it came from.
 * @param own What this node says on the interface.
 */
export function planAnswer(
  query: DnsMessage,
  fromPort: number,
  own: OwnRecords,
): AnswerPlan {
  const all = [...own.shared, ...own.unique];
  const hits = query.questions.map((question) => ({
    question,
    records: all.filter((record) => isAsked(record, question))
      .filter((record) => !isKnown(record, query.answers)),
  })).filter((hit) => hit.records.length > 0);
  const records = [...new Set(hits.flatMap((hit) => hit.records))];
  if (records.length === 0) return { kind: "silent" };
  if (fromPort !== MDNS_PORT) {
    const questions = hits.map((hit) => hit.question);
    return { kind: "legacy", records, questions };
  }
  const isProbe = query.authorities.some((claimed) =>
    hits.some((hit) => hit.question.name === claimed.name)
  );
  if (!isProbe && hits.every((hit) => hit.question.unicast)) {
    return { kind: "unicast", records };
  }
  return {
    kind: "multicast",
    records,
    shared: records.some((record) => record.type === "PTR"),
    urgent: isProbe,
  };
}

/**
 * Say whether the asker has a record already and for long enough (RFC 6762, 7.1).
 *
 * @param record One of ours.
 * @param knownAnswers What the query lists.
 */
export function isKnown(
  record: DnsRecord,
  knownAnswers: readonly DnsRecord[],
): boolean {
  if (knownAnswers.length === 0) return false;
  const key = recordKey(record);
  return knownAnswers.some((known) =>
    known.ttlSeconds >= record.ttlSeconds / 2 && recordKey(known) === key
  );
}

function isAsked(record: DnsRecord, question: DnsQuestion): boolean {
  return record.name === question.name &&
    (question.type === "ANY" || question.type === record.type);
}
