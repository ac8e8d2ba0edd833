import type { FaultCode, QueueReport, Refusal } from "@covey/core/domain";

/** What an attempt's answer is made of on the link, in the order it may come. */
export type AnswerFrame =
  /** First: the attempt is in the queue, which is stated with it. */
  | {
    readonly kind: "accepted";
    readonly queue: QueueReport;
    /** Highest dispatch of this entry that the queue holds. */
    readonly dispatchesSeen: number;
  }
  /** First and last. */
  | {
    readonly kind: "refused";
    readonly reason: Refusal;
    readonly message: string;
    readonly retryAfterMs: number | null;
  }
  /** At any time: the member lives and works on it. */
  | { readonly kind: "alive" }
  /** Once, before the body. */
  | {
    readonly kind: "answer";
    readonly status: number;
    readonly contentType: string;
    readonly retryAfter: string | null;
  }
  /** A piece of the body. */
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  /** Last: the body is whole. */
  | { readonly kind: "end" }
  /** Last: it broke off on the member's side. */
  | {
    readonly kind: "fault";
    readonly code: FaultCode;
    readonly message: string;
    readonly origin: "covey" | "engine";
    readonly retryAfterMs: number | null;
  };
