import { Fault } from "../../domain/mod.ts";
import type { PackSource } from "./pack_source.ts";
import { PACK_VERSION, type PackPackage } from "./pack_table.ts";

/** What asking a registry needs. */
export interface NpmSourceOptions {
  /** Finds the base address of an npm registry, without a slash at its end; null where none is known. */
  registry(signal: AbortSignal): Promise<string | null>;
  fetch(url: URL, signal: AbortSignal): Promise<Response>;
}

/** The npm registry, as a source of packs. */
export class NpmSource implements PackSource {
  readonly remedy =
    "Try again, or name another registry in NPM_CONFIG_REGISTRY";
  readonly #options: NpmSourceOptions;

  /** @param options How it is asked. */
  constructor(options: NpmSourceOptions) {
    this.#options = options;
  }

  async open(
    { name }: PackPackage,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const registry = await this.#options.registry(signal);
    if (registry === null) {
      throw new Fault(
        "hub_failed",
        "Failed to fetch an engine pack: no npm registry is known here; set NPM_CONFIG_REGISTRY to the address of one",
      );
    }
    const file = `${name.slice(name.indexOf("/") + 1)}-${PACK_VERSION}.tgz`;
    const url = new URL(`${registry}/${name}/-/${file}`);
    let response: Response;
    try {
      response = await this.#options.fetch(url, signal);
    } catch (error) {
      signal.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      throw unreachable(url, why, error);
    }
    if (response.ok && response.body !== null) return response.body;
    await response.body?.cancel();
    throw unreachable(url, `it answered ${response.status}`);
  }
}

function unreachable(url: URL, why: string, cause?: unknown): Fault {
  return new Fault(
    "hub_failed",
    `Failed to fetch from the registry at ${url.host}: ${why}; NPM_CONFIG_REGISTRY names another one`,
    { cause },
  );
}
