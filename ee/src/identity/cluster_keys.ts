import type { Secret } from "@covey/core/domain";
import { hkdfSync, scrypt } from "node:crypto";

/** What the cluster's secret becomes; nothing else derived from it leaves the process. */
export interface ClusterKeys {
  /** Password of the admission exchange, 32 bytes. */
  readonly admissionPassword: Uint8Array<ArrayBuffer>;
  /** UUID of the cluster: a label for people, on which no decision rests. */
  readonly clusterId: string;
}

const SALT = "covey/1";
/** 32 MiB of memory and 0.1 to 0.2 s: once per start, and once per guess. */
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 } as const;

/**
 * Derive the cluster's keys from its secret: scrypt off the main thread, then
 * HKDF-SHA-256 with one info string per key. The secret counts in Unicode NFC,
 * so that it is the same one however a keyboard composes its accents.
 *
 * @param secret The secret.
 * @returns The keys.
 */
export async function deriveClusterKeys(secret: Secret): Promise<ClusterKeys> {
  const stretched = await stretch(secret.reveal().normalize("NFC"));
  return {
    admissionPassword: expand(stretched, "covey/1 admission password", 32),
    clusterId: labelOf(expand(stretched, "covey/1 cluster id", 16)),
  };
}

function stretch(secret: string): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    scrypt(secret, SALT, 32, COST, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

function expand(
  key: Uint8Array,
  info: string,
  length: number,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hkdfSync("sha256", key, "", info, length));
}

/** The UUID form of version 8 (RFC 9562): bytes of our own making. */
function labelOf(bytes: Uint8Array): string {
  const own = bytes.slice();
  own[6] = ((own[6] ?? 0) & 0x0f) | 0x80;
  own[8] = ((own[8] ?? 0) & 0x3f) | 0x80;
  const hex = own.toHex();
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
