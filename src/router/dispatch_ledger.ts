import type { NodeId } from "../domain/mod.ts";

interface Dispatch {
  readonly device: string;
  readonly model: string;
  readonly expectedMs: number;
}

interface MemberLedger {
  last: number;
  /** Dispatches by number, until they ended. */
  readonly open: Map<number, Dispatch>;
}

/**
 * This node's own dispatches, numbered per member, so that an estimate counts
 * those that the member's last report could not hold yet: without them every
 * request between two reports would go to the same idle member.
 */
export class DispatchLedger {
  readonly #members = new Map<NodeId, MemberLedger>();

  /**
   * Number a dispatch that is about to go out.
   *
   * @param member Where it goes.
   * @param device The device whose queue it will enter.
   * @param expectedMs Its expected work.
   * @param model The engine's own name for its model.
   * @returns Its number, counting from 1.
   */
  open(
    member: NodeId,
    device: string,
    expectedMs: number,
    model = "",
  ): number {
    let ledger = this.#members.get(member);
    if (ledger === undefined) {
      ledger = { last: 0, open: new Map() };
      this.#members.set(member, ledger);
    }
    ledger.last++;
    ledger.open.set(ledger.last, { device, expectedMs, model });
    return ledger.last;
  }

  /** Forget a dispatch whose attempt is over. */
  close(member: NodeId, dispatch: number): void {
    this.#members.get(member)?.open.delete(dispatch);
  }

  /**
   * The dispatches to a device that its member's reports do not hold yet.
   *
   * @param seen Highest number that the reports of this device hold; those of another may hold fewer.
   * @returns Expected work of each, in order of dispatch.
   */
  unseenMs(member: NodeId, device: string, seen: number): readonly number[] {
    const ledger = this.#members.get(member);
    if (ledger === undefined || ledger.open.size === 0) return NONE;
    let unseen: number[] | null = null;
    for (const [number, dispatch] of ledger.open) {
      if (number <= seen || dispatch.device !== device) continue;
      (unseen ??= []).push(dispatch.expectedMs);
    }
    return unseen ?? NONE;
  }

  /**
   * The model of the last dispatch to a device that its member's reports do not
   * hold yet: the one that is loaded there when it has had its turn.
   *
   * @param seen Highest number that the reports hold.
   * @returns Its name, or null where there is none.
   */
  unseenModel(member: NodeId, device: string, seen: number): string | null {
    let model: string | null = null;
    const ledger = this.#members.get(member);
    if (ledger === undefined || ledger.open.size === 0) return null;
    for (const [number, one] of ledger.open) {
      if (number > seen && one.device === device) model = one.model;
    }
    return model;
  }
}

const NONE: readonly number[] = [];
