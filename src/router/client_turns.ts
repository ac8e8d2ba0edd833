/** Whose work has a turn, for the order of a queue. */
export interface Turns {
  /** Expected work a client has had beyond its share; 0 or less while it is its turn. */
  aheadMs(client: string): number;
}

interface Client {
  /** Virtual time at which the work that it was given ends. */
  endMs: number;
  /** Attempts of it that wait. */
  waiting: number;
}

/**
 * Shares one device fairly between clients: weighted fair queueing with equal
 * weights, with the worst-case fair rule that a client ahead of its share is
 * not in turn while another is (Bennett and Zhang, WF²Q, 1996). A virtual time
 * grows with all work over the number of clients that wait. What somebody had
 * while nobody else wanted it counts against nobody.
 */
export class ClientTurns implements Turns {
  /** Clients that wait, or are ahead. */
  readonly #clients = new Map<string, Client>();
  #virtualMs = 0;
  /** Clients that wait. */
  #competing = 0;

  aheadMs(client: string): number {
    const known = this.#clients.get(client);
    return known === undefined ? 0 : known.endMs - this.#virtualMs;
  }

  /** Clients that wait. */
  get competing(): number {
    return this.#competing;
  }

  /** Note that an attempt of a client waits. */
  join(client: string): void {
    const known = this.#clients.get(client);
    const waiting = (known?.waiting ?? 0) + 1;
    if (waiting === 1) this.#competing++;
    this.#clients.set(client, {
      // Only who waits without a break can have been given too little.
      endMs: waiting === 1
        ? Math.max(known?.endMs ?? 0, this.#virtualMs)
        : known?.endMs ?? 0,
      waiting,
    });
  }

  /** Give work to a client that waits. Its attempt leaves the line by itself. */
  give(client: string, workMs: number): void {
    const known = this.#clients.get(client);
    if (known === undefined) return;
    const work = Math.max(workMs, 1);
    known.endMs += work;
    this.#virtualMs += work / Math.max(this.#competing, 1);
  }

  /** Note that an attempt of a client waits no longer. */
  leave(client: string): void {
    const known = this.#clients.get(client);
    if (known === undefined || known.waiting === 0) return;
    known.waiting--;
    if (known.waiting > 0) return;
    this.#competing--;
    for (const [name, one] of this.#clients) {
      if (one.waiting === 0 && one.endMs <= this.#virtualMs) {
        this.#clients.delete(name);
      }
    }
    // The device ran dry, or nobody wants more of it: nobody owes anything.
    if (this.#competing === 0) this.#clients.clear();
  }

  /** The same state, to play it forward. */
  copy(): ClientTurns {
    const copy = new ClientTurns();
    copy.#virtualMs = this.#virtualMs;
    copy.#competing = this.#competing;
    for (const [name, one] of this.#clients) {
      copy.#clients.set(name, { ...one });
    }
    return copy;
  }
}
