import type { Clock, Entropy } from "@covey/core/platform";
import type { KeyHash } from "../identity/key_hash.ts";
import { codePassword, drawJoinCode } from "./join_code.ts";
import { TOKEN_ID_BYTES, TOKEN_KEY_BYTES } from "./join_token.ts";

/** How long an invitation lasts unless told otherwise. */
export const DEFAULT_LIFE_MS = 600_000;
/** Most tokens that live at once. */
const MOST_TOKENS = 64;
/** Runs that a code bears; the next one voids it. */
const CODE_RUNS = 5;

/** Which invitation an admission is about. */
export type InvitationRef =
  | { readonly kind: "token"; readonly id: string }
  | { readonly kind: "code" };

/** What an issuer hands out. */
export type Issued =
  | {
    readonly kind: "token";
    readonly id: string;
    readonly key: Uint8Array<ArrayBuffer>;
  }
  | { readonly kind: "code"; readonly code: string };

interface Invitation {
  readonly password: Uint8Array<ArrayBuffer>;
  /** Monotonic time at which it ends. */
  readonly untilMs: number;
  /** Who came in with it: a lost answer may be asked for again, by that key alone. */
  usedBy: KeyHash | null;
  runs: number;
}

/** What keeping invitations needs. */
export interface InvitationsOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** The code was voided by too many runs. */
  onCodeVoided(): void;
}

/**
 * The invitations of this node: the only node that redeems them. They live in
 * memory alone, so that a restart voids them, and end by this node's monotonic
 * clock. A token or code lets one key in.
 */
export class Invitations {
  readonly #options: InvitationsOptions;
  readonly #tokens = new Map<string, Invitation>();
  #code: Invitation | null = null;

  constructor(options: InvitationsOptions) {
    this.#options = options;
  }

  /**
   * Make a token.
   *
   * @param lifeMs How long it lasts.
   * @returns The token, or undefined while too many live.
   */
  issueToken(lifeMs: number): Extract<Issued, { kind: "token" }> | undefined {
    this.#expire();
    if (this.#tokens.size >= MOST_TOKENS) return undefined;
    const { entropy } = this.#options;
    const id = entropy.bytes(TOKEN_ID_BYTES).toHex();
    const key = entropy.bytes(TOKEN_KEY_BYTES);
    this.#tokens.set(id, this.#invitation(key, lifeMs));
    return { kind: "token", id, key };
  }

  /**
   * Make a code. It takes the place of the one before.
   *
   * @param lifeMs How long it lasts.
   */
  issueCode(lifeMs: number): Extract<Issued, { kind: "code" }> {
    const code = drawJoinCode(this.#options.entropy);
    this.#code = this.#invitation(codePassword(code), lifeMs);
    return { kind: "code", code };
  }

  /** Invitations that live now and were not used. */
  get live(): { readonly tokens: number; readonly code: boolean } {
    this.#expire();
    return {
      tokens: [...this.#tokens.values()].filter(({ usedBy }) => usedBy === null)
        .length,
      code: this.#code !== null && this.#code.usedBy === null,
    };
  }

  /**
   * The password for a run that begins now. Asking counts: the sixth run on a
   * code voids it, whoever asks.
   *
   * @returns The password, or null where there is no such invitation.
   */
  passwordFor(ref: InvitationRef): Uint8Array<ArrayBuffer> | null {
    this.#expire();
    if (ref.kind === "token") {
      return this.#tokens.get(ref.id)?.password ?? null;
    }
    if (this.#code === null) return null;
    if (++this.#code.runs > CODE_RUNS) {
      const used = this.#code.usedBy !== null;
      this.#code = null;
      if (!used) this.#options.onCodeVoided();
      return null;
    }
    return this.#code.password;
  }

  /**
   * Whether a key that proved an invitation may still come in by it.
   *
   * @param ref Which invitation.
   * @param keyHash Who comes.
   */
  admits(ref: InvitationRef, keyHash: KeyHash): boolean {
    const invitation = this.#find(ref);
    return invitation !== undefined &&
      (invitation.usedBy === null || invitation.usedBy === keyHash);
  }

  /** Note that a key came in: nobody else will by that invitation. */
  use(ref: InvitationRef, keyHash: KeyHash): void {
    const invitation = this.#find(ref);
    if (invitation !== undefined) invitation.usedBy = keyHash;
  }

  #find(ref: InvitationRef): Invitation | undefined {
    this.#expire();
    return ref.kind === "token"
      ? this.#tokens.get(ref.id)
      : this.#code ?? undefined;
  }

  #invitation(password: Uint8Array<ArrayBuffer>, lifeMs: number): Invitation {
    const untilMs = this.#options.clock.monotonic() + lifeMs;
    return { password, untilMs, usedBy: null, runs: 0 };
  }

  #expire(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const [id, { untilMs }] of this.#tokens) {
      if (untilMs <= nowMs) this.#tokens.delete(id);
    }
    if (this.#code !== null && this.#code.untilMs <= nowMs) this.#code = null;
  }
}
