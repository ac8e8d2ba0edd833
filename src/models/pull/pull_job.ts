import { Fault, type PullAllies, type PullOutcome } from "../../domain/mod.ts";
import {
  type AllyPorts,
  type AllyTask,
  type AllyWatcher,
  type FileFact,
  pullWithAllies,
} from "./ally_pull.ts";
import { fetchAll, originOf } from "./fetch_files.ts";
import { lookAtFile } from "./file_download.ts";
import { pullElsewhere } from "./pull_elsewhere.ts";
import {
  checkPlace,
  checkSpace,
  isHere,
  isThere,
  makeFolders,
  modelOf,
  totalOf,
} from "./pull_place.ts";
import { planPull, type PullPlan } from "./pull_plan.ts";
import { type PullSource, showPullSource } from "./pull_source.ts";
import { retry, SourceUnreachable } from "./retry.ts";
import { takeBack } from "./take_back.ts";

const FOLDER_MODE = 0o755;

/** What a pull needs. */
export interface PullPorts extends AllyPorts {
  /** Members to ask before the source; null while there are none. */
  allies?(): PullAllies | null;
}

/** What to pull, and under which name it does so. */
export interface PullTask extends AllyTask {
  readonly source: PullSource;
  /** Folders for partial files below the models folder, so that they lie on its disk. */
  readonly steps: readonly string[];
}

/** Told of how far a pull is. */
export interface PullWatcher extends AllyWatcher {
  planned(totalBytes: number | null): void;
  noted(note: string): void;
}

/**
 * Fetch a model's files, check them and put them into the models folder, all of
 * them or none. Members are asked first: one that has the model gives it, one
 * that pulls it gives what has come. A model that is here already with the
 * published bytes is done. Where the source can not be reached, a member that
 * has the model from there gives it.
 *
 * @param ports What it needs.
 * @param task What to pull.
 * @param watcher Told of progress.
 * @param signal Aborting it ends the pull; partial files stay.
 * @throws {Fault} When it can not be pulled.
 * @throws {FileError} When it can not be written.
 */
export async function runPull(
  ports: PullPorts,
  task: PullTask,
  watcher: PullWatcher,
  signal: AbortSignal,
): Promise<PullOutcome> {
  try {
    return await pullFromSource(ports, task, watcher, signal);
  } catch (error) {
    if (!(error instanceof NotPlanned)) throw error;
    const allies = ports.allies?.() ?? null;
    const { store } = ports;
    ports.log.info("The source of a pull can not be reached", {
      source: showPullSource(task.source),
      reason: `${error.cause}`,
    });
    const found = await pullElsewhere({ allies, store }, task, watcher, signal);
    if (found !== null) return found;
    throw new Fault(
      "hub_failed",
      `${error.message}; ${
        allies === null
          ? "there are no other members to ask"
          : "no member that answers has it from there"
      }`,
      { cause: error.cause },
    );
  }
}

/** The source did not even say what there is. */
class NotPlanned extends SourceUnreachable {}

/** Nothing is begun before it has. */
async function planned<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof SourceUnreachable
      ? new NotPlanned(error.cause)
      : error;
  }
}

async function pullFromSource(
  ports: PullPorts,
  task: PullTask,
  watcher: PullWatcher,
  signal: AbortSignal,
): Promise<PullOutcome> {
  const { files, modelsDir } = ports;
  const plan = await planned(() =>
    retry(ports, () => planPull(task.source, ports.http, signal), signal)
  );
  const where = [modelsDir, ...plan.folders].join("/");
  const model = modelOf(plan);
  if (await isHere(ports, plan, model)) {
    const sizeBytes = totalOf(plan.files) ?? 0;
    return { model, sizeBytes, verified: true, from: [] };
  }
  await takeBack(ports, plan, task.steps);
  await checkPlace(ports, plan, where, model);
  await files.makeFolder(modelsDir, FOLDER_MODE);
  await makeFolders(files, modelsDir, task.steps);
  checkSpace(ports, await comingBytes(ports, plan, where));
  watcher.planned(totalOf(plan.files));
  const allies = ports.allies?.() ?? null;
  const work = { plan, steps: task.steps, parts: null };
  if (allies === null) {
    return await fetchAll(ports, work, null, watcher, signal);
  }
  const facts = await planned(() => factsOf(ports, plan, signal));
  return await pullWithAllies(
    ports,
    task,
    work,
    facts,
    allies,
    watcher,
    signal,
  );
}

/** The model's files, and its vision part where that is still to come. */
async function comingBytes(
  { files }: PullPorts,
  { files: planned, folders, projector }: PullPlan,
  where: string,
): Promise<number | null> {
  if (projector === null || folders.length === 0) return totalOf(planned);
  return await isThere(files, `${where}/${projector.name}`)
    ? totalOf(planned)
    : totalOf([...planned, projector]);
}

/** What is known of the files before they are fetched: a URL's server has to be asked. */
async function factsOf(
  ports: AllyPorts,
  { files }: PullPlan,
  signal: AbortSignal,
): Promise<readonly FileFact[]> {
  const facts: FileFact[] = [];
  for (const file of files) {
    const { sha256, sizeBytes } = file;
    const fetched = file.origin.revision !== null || sha256 !== null
      ? { etag: null, sha256, sizeBytes }
      : await lookAtFile(ports, file, signal);
    const origin = originOf(file, fetched);
    facts.push({ origin, sizeBytes: sizeBytes ?? fetched.sizeBytes });
  }
  return facts;
}
