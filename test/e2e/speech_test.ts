import assert from "node:assert/strict";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { membersSeen } from "../../scripts/lab/members.ts";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { startNode } from "../../scripts/lab/node_process.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";

const MISSING = (await Promise.all(
  ["espeak-ng", "pocketsphinx_continuous"].map(async (program) => {
    const found = await Deno.stat(`/usr/bin/${program}`).then(
      () => true,
      () => false,
    );
    return found ? [] : [program];
  }),
)).flat();

/** Have OpenAI's client ask a node to speak, and to write down what it said. */
async function roundTrip(url: string) {
  const { audio } = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: "none",
    maxRetries: 0,
  });
  const spoken = await audio.speech.create({
    model: "espeak-ng",
    input: "one two three four five",
    voice: "alloy",
    speed: 0.9,
    response_format: "wav",
  });
  const wav = new Uint8Array(await spoken.arrayBuffer());
  assert.equal(new TextDecoder().decode(wav.subarray(0, 4)), "RIFF");
  const { data: transcript, response } = await audio.transcriptions.create({
    model: "pocketsphinx",
    file: await toFile(wav, "numbers.wav"),
    response_format: "verbose_json",
    timestamp_granularities: ["word", "segment"],
  }).withResponse();
  return {
    node: spoken.headers.get("x-covey-node"),
    hearer: response.headers.get("x-covey-node"),
    seconds: (wav.length - 44) / 2 / 22_050,
    transcript,
  };
}

Deno.test({
  name:
    "a node speaks with espeak-ng and hears it again with pocketsphinx, also for its peer (AUD-01)" +
    (MISSING.length === 0 ? "" : ` (not run: no ${MISSING.join(", ")} here)`),
  // The client fetches an empty data URL to learn of forms, and leaves its body.
  sanitizeResources: false,
  ignore: MISSING.length > 0 || !HAS_CLUSTER,
  fn: async () => {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "covey-e2e-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const secret = newSecret();
    const start = async (name: string, engine: string) =>
      stack.use(
        await startNode({
          name,
          dataDir: join(folder, name),
          env: {
            COVEY_CLUSTER_SECRET: secret,
            COVEY_ENGINE: engine,
            COVEY_LINK_HOST: "127.0.0.1",
            COVEY_LINK_PORT: "0",
            COVEY_MDNS_INTERFACES: "127.0.0.1",
            COVEY_PORT: "0",
            COVEY_UPSTREAMS: "off",
          },
        }),
      );
    const able = await start("anna", "auto");
    const unable = await start("ben", "off");
    await membersSeen([able.url, unable.url], 2);
    for (const url of [able.url, unable.url]) {
      const { node, hearer, seconds, transcript } = await roundTrip(url);
      assert.equal(hearer, node, "only one of them has the programs");
      // The recogniser's small model hears a synthetic voice only in part.
      const words = ["two", "three", "four"].filter((word) =>
        transcript.text.split(" ").includes(word)
      );
      assert(words.length >= 2, transcript.text);
      assert(Math.abs(transcript.duration - seconds) < 0.01);
      const [first] = transcript.segments ?? [];
      assert(first !== undefined && first.end <= transcript.duration);
      const heard = (transcript.words ?? []).map(({ word }) => word).join(" ");
      assert.equal(heard, transcript.text);
      let endedAt = 0;
      for (const { start, end } of transcript.words ?? []) {
        assert(start >= endedAt && end >= start && end <= transcript.duration);
        endedAt = start;
      }
    }
  },
});
