/** What came of one chat, as its client saw it. */
export interface ChatResult {
  readonly status: number;
  /** Name of the node in `x-covey-node`. */
  readonly servedBy: string;
  readonly decision: string;
  readonly predictedMs: number;
  readonly ttftMs: number;
  readonly actualMs: number;
  readonly outputTokens: number;
  readonly text: string;
  /** Whether content came in more than one piece. */
  readonly streamed: boolean;
  readonly finished: boolean;
}

/** What to ask. */
export interface ChatQuestion {
  readonly model: string;
  readonly text: string;
  readonly maxTokens: number;
  readonly source?: string;
}

/**
 * Ask a node for a streamed chat and read it to its end.
 *
 * @param url Base address of the entry node.
 * @param question What to ask.
 * @returns What came of it.
 * @throws {Error} When the answer is no 200; the body is in the message.
 */
export async function streamChat(
  url: string,
  question: ChatQuestion,
): Promise<ChatResult> {
  const startedMs = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(question.source === undefined
        ? {}
        : { "x-covey-source": question.source }),
    },
    body: JSON.stringify({
      model: question.model,
      messages: [{ role: "user", content: question.text }],
      max_tokens: question.maxTokens,
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
  if (!response.ok || response.body === null) {
    throw new Error(
      `Chat at ${url} failed with ${response.status}: ${await response.text()}`,
    );
  }
  let rest = "";
  let text = "";
  let pieces = 0;
  let ttftMs = 0;
  let outputTokens = 0;
  let finished = false;
  for await (
    const chunk of response.body.pipeThrough(new TextDecoderStream())
  ) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: ")) continue;
      const data = line.slice("data: ".length);
      if (data === "[DONE]") {
        finished = true;
        continue;
      }
      const event = JSON.parse(data);
      if (event.error !== undefined) {
        throw new Error(`Chat at ${url} broke off: ${event.error.message}`);
      }
      const piece = event.choices?.[0]?.delta?.content ?? "";
      if (piece !== "") {
        if (pieces === 0) ttftMs = performance.now() - startedMs;
        pieces += 1;
        text += piece;
      }
      outputTokens = event.usage?.completion_tokens ?? outputTokens;
    }
  }
  return {
    status: response.status,
    servedBy: response.headers.get("x-covey-node") ?? "",
    decision: response.headers.get("x-covey-decision") ?? "",
    predictedMs: Number(response.headers.get("x-covey-predicted-ms")),
    ttftMs,
    actualMs: performance.now() - startedMs,
    outputTokens,
    text,
    streamed: pieces > 1,
    finished,
  };
}

/**
 * Ask many chats, a fixed number at a time (a closed loop).
 *
 * @param count How many in all.
 * @param concurrency How many at once.
 * @param ask Asks the n-th one, n from 0.
 * @returns The results in order, and how long all took.
 */
export async function closedLoop<Result>(
  count: number,
  concurrency: number,
  ask: (n: number) => Promise<Result>,
): Promise<{ results: Result[]; elapsedMs: number }> {
  const startedMs = performance.now();
  const results: Result[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let n = next++; n < count; n = next++) results[n] = await ask(n);
    }),
  );
  return { results, elapsedMs: performance.now() - startedMs };
}
