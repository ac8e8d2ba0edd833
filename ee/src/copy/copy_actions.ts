import {
  Fault,
  findMembers,
  type JsonObject,
  type JsonValue,
  type NodeId,
} from "@covey/core/domain";
import { z } from "zod";
import { describeBody } from "../actions/describe_body.ts";
import type { Peer } from "../membership/peer.ts";
import {
  askCopy,
  changeCopy,
  type CopyChange,
  listCopies,
} from "./copy_calls.ts";
import type { CopiesOptions } from "./copies_options.ts";
import type { CopyDesk } from "./copy_desk.ts";
import { CopyError, NotHeldError } from "./copy_error.ts";
import { type CopyAsk, type CopyView, viewJson } from "./copy_view.ts";
import { findCompanions } from "./find_companions.ts";
import { findModel } from "./find_model.ts";

/** What the actions may touch. */
export interface CopyMeans extends CopiesOptions {
  /** Null where this node keeps no models. */
  readonly desk: CopyDesk | null;
}

const copySchema = z.object({
  model: z.string().min(1).max(300),
  to: z.union([
    z.literal("all"),
    z.array(z.string().min(1).max(200)).min(1).max(64),
  ]),
  bytesPerSecond: z.number().min(1).nullable().default(null),
});
const cancelSchema = z.object({ id: z.string().min(1).max(64) });

/** Describe what to copy, as `startCopies` reads it. */
export function describeCopy(): JsonObject {
  return describeBody(copySchema);
}

/** A member that may be asked to receive: this node, or a peer. */
type Receiver =
  | { readonly kind: "self"; readonly id: NodeId; readonly name: string }
  | {
    readonly kind: "peer";
    readonly id: NodeId;
    readonly name: string;
    readonly peer: Peer;
  };

/**
 * Have members copy a model. Each of them does the work itself, and goes on
 * whatever happens to this node.
 *
 * @throws {Fault} When there is no such model or member.
 */
export async function startCopies(
  body: JsonObject,
  means: CopyMeans,
  signal: AbortSignal,
): Promise<JsonValue> {
  const parsed = copySchema.safeParse(body);
  if (!parsed.success) {
    throw new Fault(
      "invalid_request",
      'The body of this action has the form {model: text, to: [names] or "all", bytesPerSecond?: number}',
      { param: parsed.error.issues[0]?.path.join(".") ?? "" },
    );
  }
  const { bytesPerSecond, model, to } = parsed.data;
  const found = findModel(model, means);
  const { root } = found.model;
  const along = await findCompanions(root, found.holders, means, signal);
  const ask: CopyAsk = {
    ...found.model,
    bytesPerSecond,
    ...along.root === null ? {} : { companions: along.root },
  };
  const receivers = to === "all"
    ? receiversOf(means).filter(({ id }) =>
      !found.holders.has(id) || along.without.has(id)
    )
    : to.map((name) => findReceiver(name, means));
  const started = await Promise.all(
    receivers.map((receiver) => startAt(receiver, ask, means, signal)),
  );
  return {
    model: ask.model,
    root: ask.root,
    copies: started.flatMap(({ views }) => views.map(viewJson)),
    failed: started.flatMap(({ failure }) => failure === null ? [] : [failure]),
  };
}

/** All copies of members that answer. */
export async function list(
  means: CopyMeans,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { desk, peers, platform: { clock } } = means;
  const answers = await Promise.all(
    peers.list().map(async (peer) => {
      const of = nameOf(peer);
      try {
        const views = await listCopies(peer.channel, of, { clock, signal });
        return { views, unknown: [] };
      } catch (error) {
        // One without models, or of an older version, has no copies.
        const isNone = error instanceof NotHeldError;
        return { views: [], unknown: isNone ? [] : [of.nodeName] };
      }
    }),
  );
  const views: readonly CopyView[] = [
    ...desk?.list() ?? [],
    ...answers.flatMap((answer) => answer.views),
  ];
  return {
    copies: views.map(viewJson),
    unknown: answers.flatMap((answer) => answer.unknown),
  };
}

/**
 * Cancel, pause or resume a copy, on whichever member it is.
 *
 * @throws {Fault} When no member that answers has it.
 */
export async function change(
  what: CopyChange,
  body: JsonObject,
  means: CopyMeans,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { desk, peers, platform: { clock } } = means;
  const parsed = cancelSchema.safeParse(body);
  if (!parsed.success) {
    throw new Fault("invalid_request", "The copy's id is missing", {
      param: "id",
    });
  }
  const { id } = parsed.data;
  const own = desk === null ? undefined : await changeHere(desk, what, id);
  if (own !== undefined) return { copies: [viewJson(own)] };
  const answers = await Promise.all(
    peers.list().map(({ channel, monitor, row }) =>
      changeCopy(channel, id, what, { node: row.id, nodeName: monitor.name }, {
        clock,
        signal,
      }).catch(() => {
        // It has no such copy, or does not answer: the others are asked as well.
        return [];
      })
    ),
  );
  const views = answers.flat();
  if (views.length > 0) return { copies: views.map(viewJson) };
  throw new Fault(
    "not_found",
    `No member that answers has a copy ${
      JSON.stringify(id)
    }; \`covey copies\` lists them`,
  );
}

async function changeHere(
  desk: CopyDesk,
  what: CopyChange,
  id: string,
): Promise<CopyView | undefined> {
  switch (what) {
    case "cancel":
      return desk.cancel(id);
    case "pause":
      return await desk.pause(id);
    case "resume":
      return desk.resumeOne(id);
    default:
      return what satisfies never;
  }
}

async function startAt(
  receiver: Receiver,
  ask: CopyAsk,
  { desk, platform: { clock } }: CopyMeans,
  signal: AbortSignal,
): Promise<{
  readonly views: readonly CopyView[];
  readonly failure: JsonObject | null;
}> {
  const { name } = receiver;
  try {
    if (receiver.kind === "peer") {
      const { peer } = receiver;
      const means = { clock, signal };
      const views = await askCopy(peer.channel, ask, nameOf(peer), means);
      return { views, failure: null };
    }
    if (desk === null) throw new CopyError("This node keeps no models");
    return { views: [desk.start(ask)], failure: null };
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof NotHeldError
      ? "It can not copy models: it keeps none, or its version is older"
      : error instanceof Error
      ? error.message
      : "It did not answer";
    return { views: [], failure: { node: name, reason } };
  }
}

function receiversOf({ host: { node }, peers }: CopyMeans): Receiver[] {
  return [
    { kind: "self", id: node.id, name: node.name },
    ...peers.list().map((peer): Receiver => ({
      kind: "peer",
      id: peer.row.id,
      name: peer.monitor.name,
      peer,
    })),
  ];
}

function findReceiver(name: string, means: CopyMeans): Receiver {
  const found = findMembers(receiversOf(means), name);
  const [receiver] = found;
  const quoted = JSON.stringify(name);
  if (receiver === undefined) {
    throw new Fault(
      "not_found",
      `No member is called ${quoted}; \`covey members\` lists them`,
      { param: "to" },
    );
  }
  if (found.length > 1) {
    throw new Fault(
      "invalid_request",
      `More than one member is called ${quoted}; name one by its id: ${
        found.map(({ id }) => id).join(", ")
      }`,
      { param: "to" },
    );
  }
  return receiver;
}

function nameOf({ monitor, row }: Peer) {
  return { node: row.id, nodeName: monitor.name };
}
