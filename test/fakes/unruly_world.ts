import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { InferenceRequest, NodeId } from "../../src/domain/mod.ts";
import { ManualClock } from "../../src/platform/mod.ts";
import { Caller } from "./caller.ts";
import { chatRequest } from "./chat_request.ts";
import { NumberedNode } from "./numbered_node.ts";
import { nodeIdOf } from "./scripted_engine.ts";
import { UnrulyLink } from "./unruly_link.ts";
import type { Stage } from "./unruly_turn.ts";

const SLOTS: readonly number[] = [1, 2, 1];
/** Turns of the event loop until what a wake-up began waits again. */
const TURNS = 3;

/** One node of the world. */
export class UnrulyNode extends NumberedNode {
  /** Its ways to the others. */
  readonly links: UnrulyLink[];
  /** Nodes that it does not know at the moment. */
  readonly away: Set<NodeId>;

  /**
   * @param clock Time.
   * @param at Its number, from 0.
   */
  constructor(clock: ManualClock, at: number) {
    const links: UnrulyLink[] = [];
    const away = new Set<NodeId>();
    super({
      id: nodeIdOf(at + 1),
      slots: SLOTS[at] ?? 1,
      clock,
      peers: () => links.filter(({ node }) => !away.has(node)),
    });
    this.links = links;
    this.away = away;
  }
}

/** Nodes with real routers, each an entry of its own, on one clock. */
export class UnrulyWorld implements Stage {
  readonly clock: ManualClock = new ManualClock(undefined, turns);
  readonly nodes: readonly UnrulyNode[];
  readonly callers: Caller[] = [];

  constructor() {
    this.nodes = SLOTS.map((_, at) => new UnrulyNode(this.clock, at));
    for (const { id, links } of this.nodes) {
      for (const to of this.nodes) {
        if (to.id === id) continue;
        links.push(new UnrulyLink(this.clock, id, to.id, to.router));
      }
    }
  }

  /** A node by its number from 0. */
  node(at: number): UnrulyNode {
    return this.nodes[at] ?? assert.fail();
  }

  /** A client asks a node; it reads all that comes unless told otherwise. */
  ask(at: number, part: Partial<InferenceRequest>, isLazy = false): Caller {
    const { router } = this.node(at);
    const caller = new Caller(router, chatRequest(part), isLazy);
    this.callers.push(caller);
    return caller;
  }

  /** Let time go by, and see to it that nothing goes wrong meanwhile. */
  async wait(ms: number): Promise<void> {
    await this.clock.advance(ms);
    for (const node of this.nodes) node.assertBounds();
  }

  /** Let time go by with nobody awake. */
  async pause(ms: number): Promise<void> {
    await this.clock.pause(ms);
  }

  /** Cut one way of two nodes to each other, or mend it. */
  cut(at: number, to: number, is: boolean): void {
    const { id } = this.node(to);
    this.node(at).links.find(({ node }) => node === id)?.cut(is);
  }

  /** Let a node know another no more, or again. */
  away(at: number, to: number, is: boolean): void {
    const { away } = this.node(at);
    const { id } = this.node(to);
    if (is) away.add(id);
    else away.delete(id);
  }

  /** All nodes hear of each other. */
  poll(): void {
    for (const { links } of this.nodes) for (const link of links) link.poll();
  }
}

async function turns(): Promise<void> {
  for (let count = 0; count < TURNS; count++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
