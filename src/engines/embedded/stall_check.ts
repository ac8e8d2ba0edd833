import type { LocalModel, Log } from "../../domain/mod.ts";
import type { Clock } from "../../platform/mod.ts";
import type { HttpClient } from "../http_client.ts";
import type { Lease } from "../supervision.ts";
import type { HostOptions } from "./host/options.ts";

/** A machine that takes longer for one token is of no use to anybody. */
const SIGN_LIMIT_MS = 120_000;

/** The least that there is to ask of a process, by what it was started for. */
const LEAST: Readonly<Record<HostOptions["mode"], readonly [string, object]>> =
  {
    chat: ["/v1/completions", { prompt: "a", max_tokens: 1 }],
    embedding: ["/v1/embeddings", { input: "a" }],
    rerank: ["/v1/rerank", { query: "a", documents: ["a"] }],
  };

/** What a check is made with. */
export interface StallCheck {
  readonly model: LocalModel;
  /** What its process was started for. */
  readonly mode: HostOptions["mode"];
  /** The process, which nobody else uses; given back in the end. */
  readonly lease: Lease<
    { readonly client: HttpClient; readonly token: string }
  >;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Ask a process for a sign of life after callers gave it up, and give it up too
 * where there is none for two minutes: a graphics card that hangs, or a process
 * that was stopped, would keep its model from being served for good. Never
 * rejects.
 *
 * @param check The process.
 */
export async function checkForStall(
  { clock, lease, log, mode, model }: StallCheck,
): Promise<void> {
  using held = lease;
  const { client, token } = held.channel;
  const [path, body] = LEAST[mode];
  using limit = clock.deadline(SIGN_LIMIT_MS, held.died);
  try {
    const reply = await client.post({
      path,
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify(body),
    }, limit.signal);
    // Whatever it says, it lives.
    await reply.body.cancel(null);
    log.debug("An engine that was given up answers", { model: model.name });
  } catch {
    // One that is gone, or going, shows by itself.
    if (held.died.aborted || !limit.signal.aborted) return;
    held.giveUp(
      `hangs: it gave no sign of life for ${SIGN_LIMIT_MS / 1_000} s`,
    );
  }
}
