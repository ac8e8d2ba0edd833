import { isLoopback } from "./address.ts";
import type { UpstreamConfig, UpstreamsConfig } from "./node_config.ts";
import { urlOf } from "./plain_value.ts";
import { accept, listOf, refuse, type Verdict } from "./setting.ts";

/** What the setting accepts. */
export const UPSTREAM_FORMS =
  "auto, off, or a list of name=kind:url, such as box=ollama:http://192.0.2.5:11434";

const KINDS: ReadonlyMap<string, UpstreamConfig["kind"]> = new Map([
  ["ollama", "ollama"],
  ["lmstudio", "lmstudio"],
  ["llama-server", "llama-server"],
  ["vllm", "vllm"],
  ["openai", "openai-compatible"],
  ["openai-compatible", "openai-compatible"],
]);
const ENTRY =
  /^([a-z0-9][a-z0-9_.-]{0,63})=([a-z0-9_-]{1,32}):(https?:\/\/.+)$/i;
/** Names that engines of other kinds have. */
const TAKEN: ReadonlySet<string> = new Set([
  "embedded",
  "openrouter",
  "anthropic",
  "gemini",
  "groq",
  "cerebras",
  "deepseek",
  "openai",
]);

/**
 * Read which upstream servers to use.
 *
 * @param text `auto`, `off` or a list.
 */
export function upstreams(text: string): Verdict<UpstreamsConfig> {
  if (/^auto$/i.test(text)) return accept({ kind: "auto" });
  if (/^off$/i.test(text)) return accept({ kind: "off" });
  const list = listOf(entry, 64)(text);
  if (list.kind === "refused") return list;
  const names = list.value.map(({ name }) => name.toLowerCase());
  return new Set(names).size < names.length
    ? refuse("give each upstream a name of its own")
    : accept({ kind: "named", upstreams: list.value });
}

function entry(text: string): Verdict<UpstreamConfig> {
  const [, name, kindText, url] = ENTRY.exec(text) ?? [];
  const kind = KINDS.get(kindText?.toLowerCase() ?? "");
  if (name === undefined || url === undefined) return refuse();
  if (kind === undefined) {
    return refuse(
      "give ollama, lmstudio, llama-server, vllm or openai as kind",
    );
  }
  if (TAKEN.has(name.toLowerCase())) {
    return refuse(`"${name}" is the name of another engine, give another one`);
  }
  if (urlOf(["http", "https"])(url).kind === "refused") return refuse();
  const { password, search, username } = new URL(url);
  return username === "" && password === "" && search === ""
    ? accept({ name, kind, url })
    : refuse("give a URL without user, password and query");
}

/**
 * Say which of the servers get prompts in the clear over the network.
 *
 * @param config The setting.
 * @returns Lines for the operator, at most one.
 */
export function plaintextNotices(config: UpstreamsConfig): readonly string[] {
  if (config.kind !== "named") return [];
  const open = config.upstreams.filter(({ url }) => {
    const { hostname, protocol } = new URL(url);
    return protocol === "http:" &&
      !isLoopback(hostname.replace(/^\[|\]$/g, ""));
  });
  return open.length === 0 ? [] : [
    `COVEY_UPSTREAMS: prompts to ${
      open.map(({ name }) => name).join(", ")
    } cross the network in the clear`,
  ];
}
