/** What to ask. */
export interface EmbeddingQuestion {
  readonly model: string;
  readonly inputs: readonly string[];
  readonly source?: string;
}

/**
 * Ask a node for embeddings.
 *
 * @param url Base address of the entry node.
 * @param question What to ask.
 * @returns Milliseconds until the whole answer was there.
 * @throws {Error} When the answer is no 200, or not one vector an input, in order.
 */
export async function embed(
  url: string,
  question: EmbeddingQuestion,
): Promise<number> {
  const startedMs = performance.now();
  const response = await fetch(`${url}/v1/embeddings`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(question.source === undefined
        ? {}
        : { "x-covey-source": question.source }),
    },
    body: JSON.stringify({ model: question.model, input: question.inputs }),
  });
  const body = await response.json();
  const tookMs = performance.now() - startedMs;
  if (!response.ok) {
    throw new Error(
      `Embeddings at ${url} failed with ${response.status}: ${
        JSON.stringify(body)
      }`,
    );
  }
  const data: readonly { readonly index: number }[] = body.data;
  const inOrder = data.every(({ index }, at) => index === at);
  if (data.length !== question.inputs.length || !inOrder) {
    throw new Error(`Embeddings at ${url} came incomplete or out of order`);
  }
  return tookMs;
}
