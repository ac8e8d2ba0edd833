import { eventually } from "../../lab/eventually.ts";
import type { LanHost } from "../../lab/lan/lan_host.ts";
import { endOf } from "../../lab/lan/run_program.ts";
import type { NodeProcess } from "../../lab/node_process.ts";

const COPIED = "A model was copied";
const LOOK_EVERY_MS = 5;

/** Sends JSON to a node: from where its API can be reached. */
export type Post = (url: string, body: unknown) => Promise<string>;

/** From this process. */
export const postHere: Post = async (url, body) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return await response.text();
};

/** From inside a host of the test LAN. */
export function postFrom(host: LanHost): Post {
  return async (url, body) => {
    const { stdout } = await endOf(
      host.command(
        ...["curl", "-sS", "-m", "20", "-H", "content-type: application/json"],
        ...["-d", JSON.stringify(body), url],
      ),
    );
    return stdout;
  };
}

/** Wait until a node has digested a model of its, so that it may be copied. */
export async function untilDigested(
  { url }: NodeProcess,
  model: string,
  post: Post,
): Promise<void> {
  const body = { model, to: ["nobody"] };
  await eventually("the model is digested", async () => {
    const answer = await post(`${url}/cluster/copies`, body);
    return answer.includes('\\"nobody\\"') ? true : undefined;
  }, 60_000);
}

/**
 * Begin a copy.
 *
 * @param to Names of receivers.
 * @returns When it was asked for, by `performance.now`.
 */
export async function beginCopy(
  { url }: NodeProcess,
  model: string,
  to: readonly string[],
  post: Post,
): Promise<number> {
  const startedMs = performance.now();
  const answer = await post(`${url}/cluster/copies`, { model, to });
  if (JSON.parse(answer).copies?.length !== to.length) {
    throw new Error(`The copy did not begin: ${answer}`);
  }
  return startedMs;
}

/**
 * Wait until a node says that it has the whole model. Its log is looked at,
 * which costs the machine nothing that would spoil the figure.
 *
 * @returns When that was, by `performance.now`.
 */
export async function untilCopied(
  node: NodeProcess,
  model: string,
  boundMs = 120_000,
): Promise<number> {
  const endMs = performance.now() + boundMs;
  const isSaid = (line: string) =>
    line.includes(COPIED) && line.includes(model);
  while (!node.log().split("\n").some(isSaid)) {
    if (performance.now() > endMs) {
      throw new Error(`The copy was not done in time:\n${node.log()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return performance.now();
}
