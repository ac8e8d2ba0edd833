import { createHash } from "node:crypto";
import { parseIpAddress } from "../discovery/net/ip_address.ts";
import {
  type KeyHash,
  keyHashBytes,
  parseKeyHash,
} from "../identity/key_hash.ts";
import type { LinkAddress } from "../link/link_address.ts";
import { decodeBase32, encodeBase32 } from "./base32.ts";

/** Length of a token's name, which is no secret. */
export const TOKEN_ID_BYTES = 8;
/** Length of a token's one-time key: 160 bits. */
export const TOKEN_KEY_BYTES = 20;
/** Most addresses of the issuer in a token. */
export const MOST_TOKEN_ADDRESSES = 8;

const PREFIX = "covey1";
const VERSION = 1;
const CHECK_BYTES = 4;
const HASH_BYTES = 32;
const HEAD_BYTES = 1 + 4 + TOKEN_ID_BYTES + TOKEN_KEY_BYTES + HASH_BYTES + 1;
/** Letters of the longest token, its white space apart. */
const LONGEST = 512;
/** Characters of anything that is looked at. */
const LONGEST_TEXT = 4096;

/** What a join token says. */
export interface JoinToken {
  /** Names the token to its issuer; hexadecimal, no secret. */
  readonly id: string;
  /** The password of its one admission. */
  readonly key: Uint8Array<ArrayBuffer>;
  /** Who issued it: the only node that redeems it. */
  readonly issuer: KeyHash;
  /** Where the issuer is. */
  readonly addresses: readonly LinkAddress[];
  /** When it ends by the issuer's wall clock, in milliseconds; for display alone. */
  readonly expiresAtMs: number;
}

/** A token, or what is wrong with the text. It never quotes the text. */
export type TokenReading =
  | { readonly kind: "token"; readonly token: JoinToken }
  | { readonly kind: "bad"; readonly reason: string };

/**
 * Write a token as one printable string.
 *
 * @param token Its addresses past the eighth, and those that are no IP addresses, are left out.
 * @returns `covey1-` and letters in groups of eight.
 */
export function formatJoinToken(token: JoinToken): string {
  const addresses = token.addresses.flatMap(addressBytes)
    .slice(0, MOST_TOKEN_ADDRESSES);
  const body = Uint8Array.from([
    VERSION,
    ...uint32(Math.floor(token.expiresAtMs / 1000)),
    ...Uint8Array.fromHex(token.id),
    ...token.key,
    ...keyHashBytes(token.issuer),
    addresses.length,
    ...addresses.flat(),
  ]);
  const letters = encodeBase32(Uint8Array.from([...body, ...checkOf(body)]));
  return [PREFIX, ...letters.match(/.{1,8}/g) ?? []].join("-");
}

/**
 * Read a token. White space, hyphens, letter case, and letters that look alike
 * do not matter, since tokens pass through mails, chats and terminals.
 *
 * @param text What was pasted.
 * @returns The token, or what is wrong.
 */
export function parseJoinToken(text: string): TokenReading {
  if (text.length > LONGEST_TEXT) return bad("is too long");
  const letters = text.replace(/[\s\p{C}\p{Pd}]+/gu, "").toLowerCase();
  if (!/^c[o0]vey[1il]/.test(letters)) {
    return bad(`does not begin with "${PREFIX}"`);
  }
  if (letters.length > LONGEST) return bad("is too long");
  const bytes = decodeBase32(letters.slice(PREFIX.length));
  if (bytes === undefined) return bad("holds letters that no token has");
  if (bytes.length < HEAD_BYTES + CHECK_BYTES) return bad("is cut off");
  const body = bytes.subarray(0, -CHECK_BYTES);
  const check = bytes.subarray(-CHECK_BYTES);
  if (checkOf(body).some((byte, at) => byte !== check[at])) {
    return bad("is damaged: its checksum does not match");
  }
  if (body[0] !== VERSION) return bad("is of another version of Covey");
  return readBody(body);
}

function readBody(body: Uint8Array): TokenReading {
  let at = 1;
  const take = (length: number) => body.slice(at, at += length);
  const seconds = take(4).reduce((sum, byte) => sum * 256 + byte, 0);
  const id = take(TOKEN_ID_BYTES).toHex();
  const key = take(TOKEN_KEY_BYTES);
  const issuer = parseKeyHash(take(HASH_BYTES).toHex());
  const count = take(1)[0] ?? 0;
  const addresses: LinkAddress[] = [];
  for (let index = 0; index < count; index++) {
    const length = take(1)[0];
    if (length !== 4 && length !== 16) return bad("names no usable address");
    const host = hostOf(take(length));
    const [high = 0, low = 0] = take(2);
    if (at > body.length) return bad("is cut off");
    const port = high * 256 + low;
    if (host === undefined || port === 0) return bad("names no usable address");
    addresses.push({ host, port });
  }
  if (
    issuer === undefined || addresses.length === 0 || at !== body.length ||
    addresses.length > MOST_TOKEN_ADDRESSES
  ) return bad("names no usable address");
  return {
    kind: "token",
    token: { id, key, issuer, addresses, expiresAtMs: seconds * 1000 },
  };
}

function addressBytes({ host, port }: LinkAddress): number[][] {
  const bytes = parseIpAddress(host)?.bytes;
  return bytes === undefined
    ? []
    : [[bytes.length, ...bytes, port >> 8, port & 255]];
}

function hostOf(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from(
    { length: 8 },
    (_, at) =>
      ((bytes[2 * at] ?? 0) * 256 + (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  return URL.parse(`http://[${groups.join(":")}]/`)?.hostname.slice(1, -1);
}

function checkOf(body: Uint8Array): Uint8Array {
  return createHash("sha256").update("covey join token").update(body).digest()
    .subarray(0, CHECK_BYTES);
}

function uint32(value: number): number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}

function bad(problem: string): TokenReading {
  return {
    kind: "bad",
    reason:
      `The join token ${problem}; copy it whole from what \`covey invite\` printed`,
  };
}
