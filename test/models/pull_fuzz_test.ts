import assert from "node:assert/strict";
import fc from "fast-check";
import { createModelStore } from "../../src/models/model_store.ts";
import { HubHttp } from "../../src/models/pull/hub_http.ts";
import { createPulls } from "../../src/models/pull/pulls.ts";
import {
  createSeededEntropy,
  createSystemClock,
  ManualClock,
  MemoryFiles,
} from "../../src/platform/mod.ts";
import { buildModel } from "../fakes/gguf_builder.ts";
import { sha256Of } from "../fakes/hub_server.ts";
import { QuietLog } from "../fakes/quiet_log.ts";

/** Pulls to try; COVEY_FUZZ=10000 for the long run. */
const RUNS = Number(Deno.env.get("COVEY_FUZZ") ?? 150);
const PIECE = 500;
const NAME = "m-Q4_0.gguf";
const COMMIT = "ab".repeat(20);
const FOREVER = new AbortController().signal;

/** What goes wrong with one answer. */
type Fault =
  | { readonly kind: "flip"; readonly at: number; readonly bit: number }
  | { readonly kind: "short" | "long" | "empty" | "broken" | "whole" }
  /** The bytes of another place, under the range that was asked for. */
  | { readonly kind: "other"; readonly step: number }
  /** The bytes of another place, and it says so. */
  | { readonly kind: "shifted"; readonly step: number }
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "etag" }
  | { readonly kind: "size" };

const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({
    kind: fc.constant("flip" as const),
    at: fc.nat(4_000),
    bit: fc.nat(7),
  }),
  fc.record({
    kind: fc.constantFrom(
      "short" as const,
      "long" as const,
      "empty" as const,
      "broken" as const,
      "whole" as const,
    ),
  }),
  fc.record({ kind: fc.constant("other" as const), step: fc.nat(4_000) }),
  fc.record({ kind: fc.constant("shifted" as const), step: fc.nat(4_000) }),
  fc.record({
    kind: fc.constant("status" as const),
    status: fc.constantFrom(200, 206, 403, 404, 416, 429, 500, 503),
  }),
  fc.constant({ kind: "etag" as const }),
  fc.constant({ kind: "size" as const }),
);
/** What goes wrong with the listing: digest, size, or a bit anywhere in it. */
const listingFault = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.record({ at: fc.nat(1_000), bit: fc.nat(7) }) },
);

const WHOLE = (() => {
  const bytes = createSeededEntropy(3).bytes(4 * PIECE - 7);
  bytes.set(buildModel());
  return bytes;
})();

function listing(): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify({
    sha: COMMIT,
    siblings: [{
      rfilename: NAME,
      size: WHOLE.length,
      lfs: { sha256: sha256Of(WHOLE), size: WHOLE.length },
    }],
  }));
}

/** A hub in memory: one answer after the other goes wrong as it was told. */
class FaultyHub {
  readonly #faults: (Fault | null)[];
  listingFault: { readonly at: number; readonly bit: number } | null;

  constructor(
    faults: readonly (Fault | null)[],
    listingFault: FaultyHub["listingFault"],
  ) {
    this.#faults = [...faults];
    this.listingFault = listingFault;
  }

  /** From now on all goes well. */
  mend(): void {
    this.#faults.length = 0;
    this.listingFault = null;
  }

  fetch(url: URL, init: RequestInit): Promise<Response> {
    if (url.pathname.startsWith("/api/")) {
      const bytes = listing();
      if (this.listingFault !== null) {
        const at = this.listingFault.at % bytes.length;
        bytes[at] = (bytes[at] ?? 0) ^ 1 << this.listingFault.bit;
      }
      return Promise.resolve(new Response(bytes));
    }
    const range = new Headers(init.headers).get("range");
    return this.#send(/^bytes=(\d+)-(\d+)$/.exec(range ?? ""));
  }

  #send(range: RegExpExecArray | null): Promise<Response> {
    const first = Number(range?.[1] ?? 0);
    const last = Math.min(
      Number(range?.[2] ?? WHOLE.length),
      WHOLE.length - 1,
    );
    const spoilt = this.#faults.shift() ?? null;
    const place = spoilt?.kind === "other" || spoilt?.kind === "shifted"
      ? (first + spoilt.step) % WHOLE.length
      : first;
    let bytes = WHOLE.slice(place, place + last - first + 1);
    let status = range === null ? 200 : 206;
    switch (spoilt?.kind) {
      case "flip": {
        const at = spoilt.at % bytes.length;
        bytes[at] = (bytes[at] ?? 0) ^ 1 << spoilt.bit;
        break;
      }
      case "short":
        bytes = bytes.slice(0, -1);
        break;
      case "long":
        bytes = new Uint8Array([...bytes, 0]);
        break;
      case "empty":
        bytes = new Uint8Array();
        break;
      case "whole":
        bytes = WHOLE.slice();
        status = 200;
        break;
      case "status":
        status = spoilt.status;
        break;
      case "broken":
        return Promise.reject(new TypeError("The connection broke"));
      default:
        break;
    }
    const said = spoilt?.kind === "shifted" ? place : first;
    const size = WHOLE.length + (spoilt?.kind === "size" ? 1 : 0);
    return Promise.resolve(
      new Response(bytes, {
        status,
        headers: {
          etag: spoilt?.kind === "etag" ? '"other"' : '"own"',
          ...status === 206
            ? {
              "content-range": `bytes ${said}-${said + last - first}/${size}`,
            }
            : {},
        },
      }),
    );
  }
}

Deno.test("a pull takes nothing whose bytes differ, whatever is flipped, missing, repeated or reordered in pieces, ranges and listing, and gets it from a good source", async () => {
  let accepted = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(fault), { maxLength: 14 }),
      listingFault,
      async (faults, badListing) => {
        const hub = new FaultyHub(faults, badListing);
        const files = new MemoryFiles({ "/models/.k": "", "/data/.k": "" });
        const clock = createSystemClock();
        const log = new QuietLog();
        await using store = createModelStore({
          files,
          clock: new ManualClock(),
          log,
          modelsDir: "/models",
          manifestsDir: "/data/manifests",
        });
        await using pulls = createPulls({
          files,
          clock: { ...clock, sleep: () => Promise.resolve() },
          entropy: createSeededEntropy(1),
          log,
          http: new HubHttp({
            clock,
            endpoint: "http://hub.test",
            token: null,
            fetch: (url, init) => hub.fetch(url, init),
          }),
          store,
          modelsDir: "/models",
          listPath: "/data/pulls.json",
          pieceBytes: PIECE,
          freeDiskBytes: () => null,
        });
        const pull = () =>
          pulls.pull({ source: "org/repo" }, () => {}, FOREVER);
        const isWhole = async () => {
          const [model] = store.list();
          return model !== undefined &&
            sha256Of(await files.readBytes(model.path)) === sha256Of(WHOLE);
        };
        const outcome = await pull().catch(() => null);
        if (outcome !== null) {
          // Without a published digest nobody can tell, and it says so.
          if (!outcome.verified) return;
          accepted++;
          assert.ok(await isWhole(), "accepted bytes that differ");
          return;
        }
        refused++;
        assert.deepEqual(store.list(), []);
        hub.mend();
        await pull();
        assert.ok(await isWhole(), "not recovered from a good source");
      },
    ),
    { numRuns: RUNS },
  );
  assert.ok(accepted > 0 && refused > 0, `${accepted}, ${refused}`);
});
