import { Fault, type LocalModel, type PullRequest } from "../../domain/mod.ts";
import type { Clock, Entropy } from "../../platform/mod.ts";
import { LONGEST_HEADER_BYTES } from "../gguf_cursor.ts";
import { GgufError } from "../gguf_error.ts";
import { type GgufHeader, readGgufHeader } from "../gguf_header.ts";
import type { GgufFile } from "../model_files.ts";
import { judgeModel } from "../model_inspection.ts";
import { ForwardReader } from "./forward_reader.ts";
import { checkStatus, type HubAnswer, type HubHttp } from "./hub_http.ts";
import { type PlannedFile, planPull } from "./pull_plan.ts";
import { parsePullSource } from "./pull_source.ts";
import { retry } from "./retry.ts";

/** Looks that go on at a time. */
const MOST_LOOKING = 4;
const BUSY_MS = 5_000;

/** What looking at models elsewhere needs. */
export interface RemoteModelsOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly http: HubHttp;
}

/** A model at its source. */
export interface RemoteModel {
  /** As it would be offered here, but for where it would lie. */
  readonly model: LocalModel;
  /** Size of all that would be pulled, a vision part among it. */
  readonly sizeBytes: number;
  /** Bytes of it that were read. */
  readonly readBytes: number;
}

/** A header, with how large its file is. */
interface RemoteHeader {
  readonly header: GgufHeader;
  readonly sizeBytes: number;
  readonly readBytes: number;
}

/** Looks at models where they would be pulled from. */
export class RemoteModels {
  readonly #options: RemoteModelsOptions;
  #looking = 0;

  /** @param options What it needs. */
  constructor(options: RemoteModelsOptions) {
    this.#options = options;
  }

  /**
   * Read what a model is out of its header: at most 64 MiB of the file, and
   * usually a few.
   *
   * @param request What would be pulled.
   * @param signal Aborting it ends the look.
   * @throws {Fault} When there is no such model, or it is none that can be used.
   */
  async look(
    request: PullRequest,
    signal: AbortSignal,
  ): Promise<RemoteModel> {
    const source = parsePullSource(request);
    if (this.#looking >= MOST_LOOKING) {
      throw new Fault(
        "queue_full",
        "This node looks at several models already; ask again in a moment",
        { retryAfterMs: BUSY_MS },
      );
    }
    this.#looking++;
    try {
      const { http } = this.#options;
      const plan = await retry(
        this.#options,
        () => planPull(source, http, signal),
        signal,
      );
      const [first, ...rest] = plan.files;
      const read = await retry(
        this.#options,
        () => readHeader(http, first, signal),
        signal,
      );
      const model = judged([first, ...rest], read);
      return {
        model,
        sizeBytes: model.sizeBytes + (plan.projector?.sizeBytes ?? 0),
        readBytes: read.readBytes,
      };
    } finally {
      this.#looking--;
    }
  }
}

/** One answer is enough: it is read only as far as the header goes, and broken off there. */
async function readHeader(
  http: HubHttp,
  file: PlannedFile,
  signal: AbortSignal,
): Promise<RemoteHeader> {
  const range = `bytes=0-${LONGEST_HEADER_BYTES - 1}`;
  await using answer = await http.get(file.url, { range }, signal);
  checkStatus(answer, "file");
  const sizeBytes = file.sizeBytes ?? sizeOf(answer);
  if (sizeBytes === null) {
    throw new Fault(
      "hub_failed",
      "The source does not say how large the file is, so nothing can be told of it before it is pulled",
    );
  }
  const reader = new ForwardReader(answer.pieces());
  try {
    const header = await readGgufHeader(reader, sizeBytes);
    return { header, sizeBytes, readBytes: reader.takenBytes };
  } catch (error) {
    if (!(error instanceof GgufError)) throw error;
    // An answer that ended early looks like a file that does.
    if (reader.hasEnded && reader.takenBytes < sizeBytes) {
      throw new TypeError("The answer ended within the header");
    }
    throw unusable(error.message);
  }
}

/** The file's size by the head of an answer, or null. */
function sizeOf({ headers, status }: HubAnswer): number | null {
  const text = status === 206
    ? /^bytes \d+-\d+\/(\d{1,16})$/.exec(headers.get("content-range") ?? "")
      ?.[1]
    : /^\d{1,16}$/.exec(headers.get("content-length") ?? "")?.[0];
  return text === undefined ? null : Number(text);
}

function judged(
  files: readonly [PlannedFile, ...PlannedFile[]],
  { header, sizeBytes }: RemoteHeader,
): LocalModel {
  const as = (file: PlannedFile): GgufFile => ({
    path: file.name,
    sizeBytes: file.sizeBytes ?? sizeBytes,
    modifiedMs: null,
    identity: null,
  });
  const [first, ...rest] = files;
  const judgement = judgeModel(
    "",
    {
      kind: "complete",
      name: first.name.replace(/(?:-\d{5}-of-\d{5})?\.gguf$/, ""),
      files: [as(first), ...rest.map(as)],
    },
    // The first part alone tells what the model is.
    () => ({ kind: "sound", header }),
  );
  if (judgement.kind === "model") return judgement.model;
  throw unusable(judgement.reason);
}

function unusable(reason: string): Fault {
  return new Fault(
    "hub_failed",
    `The source's file is no model that can be used: ${reason}`,
  );
}
