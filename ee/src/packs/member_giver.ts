import {
  Fault,
  type NodeId,
  type PackArchive,
  type PackGiver,
} from "@covey/core/domain";
import type { Clock } from "@covey/core/platform";
import { call } from "../copy/copy_calls.ts";
import { NotHeldError } from "../copy/copy_error.ts";
import { LinkError } from "../link/link_error.ts";
import type { MemberChannel } from "../link/member_channel.ts";
import { WireError } from "../link/wire_error.ts";
import { formatPiecePath, parseHeld, PIECE_BYTES } from "./pack_wire.ts";
import { PACKS_PATH } from "./packs_path.ts";

const LIST_LIMIT_BYTES = 16 * 1024;
const LIST_LIMIT_MS = 2_000;
const PIECE_LIMIT_MS = 10_000;
/** How often a piece is asked for, and the wait before it is again. */
const MOST_TRIES = 3;
const RETRY_MS = 1_000;

/** A member that may be asked. */
export interface PackMember {
  readonly id: NodeId;
  readonly name: string;
  readonly channel: MemberChannel;
}

/**
 * Ask a member which archives it has.
 *
 * @param member Whom.
 * @param clock Times the waits.
 * @param signal Ends the wait.
 * @returns The member as a giver; null where it does not answer or knows no such question.
 */
export async function meetGiver(
  member: PackMember,
  clock: Clock,
  signal: AbortSignal,
): Promise<PackGiver | null> {
  const { channel, id, name } = member;
  try {
    const bytes = await call(channel, {
      method: "GET",
      path: PACKS_PATH,
      limitBytes: LIST_LIMIT_BYTES,
      limitMs: LIST_LIMIT_MS,
    }, { clock, signal });
    return {
      id,
      name,
      ...parseHeld(bytes),
      open: (archive, ends) => openArchive(member, archive, clock, ends),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (isOfMember(error)) return null;
    throw error;
  }
}

/** One piece is on its way at a time: as the next is taken, the one after it is asked for. */
function openArchive(
  member: PackMember,
  { integrity, sizeBytes }: PackArchive,
  clock: Clock,
  signal: AbortSignal,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let index = 0;
  return new ReadableStream({
    async pull(controller) {
      const wanted = Math.min(PIECE_BYTES, sizeBytes - index * PIECE_BYTES);
      const path = formatPiecePath({ integrity, index });
      const piece = await fetchPiece(member, path, clock, signal);
      if (piece.length !== wanted) throw failed(member, "it gave part of it");
      controller.enqueue(piece);
      index++;
      if (index * PIECE_BYTES >= sizeBytes) controller.close();
    },
  });
}

async function fetchPiece(
  member: PackMember,
  path: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  for (let tries = 1;; tries++) {
    try {
      return await call(member.channel, {
        method: "GET",
        path,
        limitBytes: PIECE_BYTES,
        limitMs: PIECE_LIMIT_MS,
      }, { clock, signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!isOfMember(error)) throw error;
      // What came so far stays: a link that broke for a moment costs one piece.
      if (tries >= MOST_TRIES || error instanceof NotHeldError) {
        throw failed(member, error.message, error);
      }
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

function isOfMember(
  error: unknown,
): error is LinkError | NotHeldError | WireError {
  return error instanceof LinkError || error instanceof NotHeldError ||
    error instanceof WireError;
}

function failed({ name }: PackMember, why: string, cause?: unknown): Fault {
  return new Fault(
    "link_failed",
    `Failed to fetch an engine pack from "${name}": ${why}; try again, or name another member with --from`,
    { cause },
  );
}
