/**
 * A real node is sent requests made from its own OpenAPI document and from
 * spoiled bodies of real clients. What it answers may be anything but a fault
 * of its own: `COVEY_FUZZ_API` sets how many, `deno task fuzz:api` 100,000.
 *
 * @module
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/domain/mod.ts";
import { boundFetch, createSeededEntropy } from "../../../src/platform/mod.ts";
import { eventually } from "../../../scripts/lab/eventually.ts";
import { startNode } from "../../../scripts/lab/node_process.ts";
import {
  openAiAnswer,
  startUpstreamServer,
} from "../../fakes/upstream_server.ts";
import {
  describeRequest,
  type FuzzRequest,
  RequestGrammar,
} from "./fuzz_request.ts";
import { MEASURED, memoryInUse } from "./memory_in_use.ts";

const COUNT = Number(Deno.env.get("COVEY_FUZZ_API") ?? 1_500);
const SEED = Number(Deno.env.get("COVEY_FUZZ_SEED") ?? 1);
const AT_ONCE = 8;
/** Share of the run in which caches fill and code is compiled. */
const WARM_UP = 0.3;
const GROWTH_BYTES = 40 * 2 ** 20;
const TIME_LIMIT_MS = 60_000;

const SIMULATED = ["chat", "embedding", "rerank"] as const;
const FAST = {
  loadMs: 0,
  prefillTokensPerSecond: 1_000_000,
  decodeTokensPerSecond: 100_000,
  batchSlowdown: 0,
  noise: 0,
  slots: 8,
  contextLength: 4096,
};

Deno.test({
  name: `serve answers ${COUNT} generated requests without a fault of its own`,
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-fuzz-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const upstream = stack.use(startUpstreamServer((call) => {
      if (call.path === "/version") return Response.json({ version: "0.12.0" });
      if (call.path === "/health") return new Response(null);
      if (call.path !== "/v1/models") return openAiAnswer(call);
      const model = { id: "up", object: "model", owned_by: "vllm" };
      return Response.json({
        object: "list",
        data: [{ ...model, max_model_len: 4096 }],
      });
    }));
    const node = stack.use(
      await startNode({
        name: "solo",
        command: MEASURED,
        dataDir: join(folder, "data"),
        env: {
          COVEY_PORT: "0",
          COVEY_ENGINE: "off",
          COVEY_MODELS_DIR: join(folder, "models"),
          COVEY_UPSTREAMS: `up=vllm:${upstream.url}`,
          // Nothing listens there: a pull ends at once.
          HF_ENDPOINT: "http://127.0.0.1:9",
          // What founds or joins a cluster stays on this machine.
          COVEY_LINK_HOST: "127.0.0.1",
          COVEY_LINK_PORT: "0",
          COVEY_MDNS_INTERFACES: "127.0.0.1",
        },
        config: {
          engines: SIMULATED.map((capability) => ({
            kind: "simulated",
            id: capability,
            models: [{ id: `sim-${capability}`, capability, ...FAST }],
          })),
        },
      }),
    );
    const described = await fetch(`${node.url}/openapi.json`);
    const document: JsonObject = await described.json();
    const models = ["up", ...SIMULATED.map((one) => `sim-${one}`), "nothing"];
    const grammar = new RequestGrammar(
      document,
      models,
      createSeededEntropy(SEED),
    );

    let sent = 0;
    let warmBytes = 0;
    const statuses = new Map<number, number>();
    const faults: string[] = [];
    const sendSome = async () => {
      while (sent < COUNT && faults.length === 0) {
        if (++sent === Math.floor(COUNT * WARM_UP)) {
          warmBytes = await memoryInUse(node);
        }
        const number = sent;
        const request = grammar.next();
        const fault = await send(node.url, request, statuses);
        if (fault === null) continue;
        faults.push(
          `Request ${number} of seed ${SEED}: ${
            describeRequest(request)
          }\n${fault}`,
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendSome));
    if (faults.length > 0) {
      assert.fail(`${faults.join("\n\n")}\n\nThe node's log:\n${node.log()}`);
    }

    // Those that went away with requests under way must leave nothing behind.
    await eventually("nothing is in flight", async () => {
      const response = await fetch(`${node.url}/fleet/status`);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return /"inFlight":0|"in_flight_tasks":0/.test(text) ? true : undefined;
    });
    const grownBytes = await memoryInUse(node) - warmBytes;
    const told = JSON.stringify([...statuses].toSorted(([a], [b]) => a - b));
    assert.ok(
      grownBytes < GROWTH_BYTES,
      `Seed ${SEED}: memory in use grew by ${
        Math.round(grownBytes / 2 ** 20)
      } MiB; answers by status: ${told}`,
    );
    assert.ok(
      (statuses.get(200) ?? 0) > COUNT / 10,
      `Seed ${SEED}: hardly any was served; answers by status: ${told}`,
    );
    const errors = node.log().split("\n").filter((line) =>
      /"level":"error"|\bERROR\b/.test(line)
    );
    assert.equal(errors.join("\n"), "", `Seed ${SEED}`);
    if (Deno.env.has("COVEY_FUZZ_API")) {
      Deno.stderr.writeSync(
        new TextEncoder().encode(
          `${told}, grown by ${Math.round(grownBytes / 2 ** 20)} MiB\n`,
        ),
      );
    }
  },
});

/** Send a request and read its answer; what is wrong with that, or null. */
async function send(
  url: string,
  request: FuzzRequest,
  statuses: Map<number, number>,
): Promise<string | null> {
  const limit = AbortSignal.timeout(TIME_LIMIT_MS);
  try {
    const response = await boundFetch(`${url}${request.path}`, {
      method: request.method,
      headers: { ...request.headers },
      body: request.body,
      redirect: "manual",
      signal: limit,
    });
    if (request.leaves) {
      await response.body?.cancel();
      return null;
    }
    const text = await response.text();
    const { status } = response;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    return status < 500 || isAllowed(status, text, request)
      ? null
      : `${status}\n${headersOf(response)}\n\n${text}`;
  } catch (error) {
    if (limit.aborted) return `No whole answer within ${TIME_LIMIT_MS} ms`;
    // A URL that no client can ask for is no request.
    if (
      error instanceof TypeError && /URL|header|method/i.test(error.message)
    ) {
      return null;
    }
    return `No answer: ${
      error instanceof Error ? error.stack ?? error.message : String(error)
    }`;
  }
}

function headersOf({ headers }: Response): string {
  return [...headers].map(([name, value]) => `${name}: ${value}`).join("\n");
}

/** Which answers of the kind 5xx are no fault of the node. */
function isAllowed(
  status: number,
  text: string,
  { isPinned, path }: FuzzRequest,
): boolean {
  const { code, origin } = errorOf(text);
  // What a dialect has and Covey has not, or not in this build, by name.
  if (status === 501) {
    return code === "not_implemented" || /Covey/.test(text) || text === "";
  }
  if (origin === "engine") return true;
  // In Ollama's dialect an error is a sentence alone.
  if (status === 502 && text.startsWith('{"error":"The engine\'s')) return true;
  // Who says where it runs is told when nobody is there.
  if (status === 503 && isPinned) return true;
  return code === "hub_failed" || (status === 502 && /\/pulls?$/.test(path));
}

function errorOf(
  text: string,
): { readonly code?: JsonValue; readonly origin?: JsonValue } {
  try {
    const whole: JsonValue = JSON.parse(text);
    if (isJsonObject(whole) && isJsonObject(whole.error)) return whole.error;
  } catch {
    // Not JSON: an answer to HEAD, or a fault that the caller is shown.
  }
  return {};
}
