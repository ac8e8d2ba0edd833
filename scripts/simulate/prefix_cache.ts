import type { Job } from "./workload.ts";

/** The prompts that a played engine still holds, least recently used first. */
export class PrefixCache {
  readonly #most: number;
  readonly #tokens = new Map<string, number>();

  /** @param most Conversations it holds. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Tokens of a job's prompt that need no prefill. */
  use(job: Job): number {
    return Math.min(this.held(job), job.promptTokens - 1);
  }

  /** Tokens held of a job's conversation. */
  held(job: Job): number {
    return job.conversation === null
      ? 0
      : this.#tokens.get(job.conversation) ?? 0;
  }

  /** Hold what a job has left. */
  keep(job: Job): void {
    if (job.conversation === null || this.#most === 0) return;
    this.#tokens.delete(job.conversation);
    this.#tokens.set(job.conversation, job.promptTokens + job.outputTokens);
    if (this.#tokens.size <= this.#most) return;
    for (const oldest of this.#tokens.keys()) {
      this.#tokens.delete(oldest);
      return;
    }
  }
}
