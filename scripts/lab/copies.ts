/** A copy as `/cluster/copies` shows it. */
export interface ListedCopy {
  readonly id: string;
  readonly model: string;
  readonly state: string;
  readonly doneBytes: number;
  readonly totalBytes: number;
  readonly bytesPerSecond: number;
  readonly message: string | null;
}

/** The newest copy that a node knows of, or undefined where there is none. */
export async function newestCopy(
  url: string,
): Promise<ListedCopy | undefined> {
  const response = await fetch(`${url}/cluster/copies`);
  return (await response.json()).copies?.at(-1);
}

/** What to copy where. */
export interface CopyOrder {
  readonly model: string;
  readonly to: readonly string[];
  readonly bytesPerSecond?: number;
}

/**
 * Ask a node for copies.
 *
 * @returns Undefined where it refuses: its weights may not be digested yet, or a member not met.
 */
export async function orderCopies(
  url: string,
  order: CopyOrder,
): Promise<readonly ListedCopy[] | undefined> {
  const response = await fetch(`${url}/cluster/copies`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(order),
  });
  const { copies } = await response.json();
  return response.ok && copies.length === order.to.length ? copies : undefined;
}

/**
 * Cancel a copy.
 *
 * @throws {Error} When the node refuses.
 */
export async function cancelCopy(url: string, id: string): Promise<void> {
  const response = await fetch(`${url}/cluster/copies/${id}`, {
    method: "DELETE",
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`The copy was not cancelled: ${text}`);
}
