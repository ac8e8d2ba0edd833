/** The three ways in: the cluster's secret, a join token, an 8-digit code. */
export type AdmissionKind = "secret" | "token" | "code";

const KIND_BYTE: Readonly<Record<AdmissionKind, number>> = {
  secret: 1,
  token: 2,
  code: 3,
};

/**
 * The byte that keeps the ways in apart inside the exchange, so that a code
 * never opens what a token should.
 *
 * @param kind The way in.
 * @returns 1, 2 or 3.
 */
export function kindByte(kind: AdmissionKind): number {
  return KIND_BYTE[kind];
}
