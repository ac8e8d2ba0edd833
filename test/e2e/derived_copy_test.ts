import assert from "node:assert/strict";
import { join } from "node:path";
import { header } from "../../scripts/fixtures/covey_tiny.ts";
import { encodeGguf } from "../../scripts/fixtures/gguf_writer.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { membersSeen } from "../../scripts/lab/members.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { startNode } from "../../scripts/lab/node_process.ts";

const COLUMNS = 1024;
const ROWS = 12_288;
/** A quarter of the model at once, and then hardly anything. */
const BYTES_PER_SECOND = 1_000_000;

/** A model of 25 MB that is 13 MB, or four chunks, as Q8_0. Nobody computes with it. */
function encodeLarge(): Uint8Array<ArrayBuffer> {
  const data = Float32Array.from(
    { length: COLUMNS * ROWS },
    (_, at) => (Math.imul(at, 0x9e3779b1) >>> 16) / 65_536 - 0.5,
  );
  return encodeGguf({
    metadata: header("large", []),
    tensors: [{
      name: "blk.0.ffn_up.weight",
      type: "f16",
      shape: [COLUMNS, ROWS],
      data,
    }],
  });
}

Deno.test({
  name:
    "a converted model is made by a member that has its original, where the copy is slow, with the same bytes",
  ignore: !HAS_CLUSTER,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-derived-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const bytes = encodeLarge();
    const secret = newSecret();
    const start = async (name: string) => {
      const models = join(folder, name, "models");
      await Deno.mkdir(models, { recursive: true });
      await Deno.writeFile(join(models, "large-F16.gguf"), bytes);
      return stack.use(
        await startNode({
          name,
          dataDir: join(folder, name),
          env: {
            COVEY_CLUSTER_SECRET: secret,
            COVEY_ENGINE: "embedded",
            COVEY_ENGINE_THREADS: "1",
            COVEY_LINK_HOST: "127.0.0.1",
            COVEY_LINK_PORT: "0",
            COVEY_MDNS_INTERFACES: "127.0.0.1",
            COVEY_PORT: "0",
            COVEY_MODELS_DIR: models,
          },
        }),
      );
    };
    const anna = await start("anna");
    const ben = await start("ben");
    await membersSeen([anna.url, ben.url], 2);
    const post = async (url: string, body: object) => {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const lines = (await answer.text()).trimEnd().split("\n");
      return JSON.parse(lines.at(-1) ?? "");
    };
    // What one knows by its digests is what the other makes it from.
    await eventually("the original is digested", async () => {
      const check = await post(`${ben.url}/covey/models/verify`, {});
      return check.sound === true ? true : undefined;
    });
    const converted = await post(`${anna.url}/covey/models/convert`, {
      model: "large-F16",
      to: "q8_0",
    });
    assert.equal(converted.status, "success", JSON.stringify(converted));
    await eventually("the copy is begun", async () => {
      const begun = await post(`${anna.url}/cluster/copies`, {
        model: "large-Q8_0",
        to: ["ben"],
        bytesPerSecond: BYTES_PER_SECOND,
      });
      return begun.copies?.length === 1 ? true : undefined;
    });
    const message = await eventually("the copy has ended", async () => {
      const answer = await fetch(`${ben.url}/cluster/copies`);
      const [copy] = (await answer.json()).copies;
      return /done|failed/.test(copy?.state) ? `${copy.message}` : undefined;
    });
    // Where other work slows this machine it may turn out that copying is sooner.
    const [, made, copyS, makeS] =
      /^(Made|Copied and not made) here from "large-F16": copying takes ([\d.]+) s by what its link carries, making ([\d.]+) s$/
        .exec(message) ?? [];
    assert.ok(
      made === "Made"
        ? Number(makeS) <= Number(copyS)
        : Number(makeS) >= Number(copyS),
      message,
    );
    assert.deepEqual(
      await Deno.readFile(
        join(folder, "ben/models/large-Q8_0/large-Q8_0.gguf"),
      ),
      await Deno.readFile(join(folder, "anna/models/large-Q8_0.gguf")),
    );
  },
});
