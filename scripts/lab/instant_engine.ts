/** Configuration of a node with one simulated chat model, "sim", that is warm at once and takes next to no time: what is left is the node's own. */
export const INSTANT_ENGINE = {
  engines: [{
    kind: "simulated",
    id: "sim",
    models: [{
      id: "sim",
      capability: "chat",
      loadMs: 0,
      prefillTokensPerSecond: 1_000_000,
      decodeTokensPerSecond: 1_000_000,
      batchSlowdown: 0,
      noise: 0,
      slots: 4,
      contextLength: 8192,
    }],
  }],
};
