import { Fault } from "../../domain/mod.ts";
import { baseOf, groupModelFiles } from "../model_files.ts";
import type { HubFile } from "./hub_listing.ts";

/** What is taken where nothing was asked for: the best of what fits most machines first. */
const PREFERRED: readonly string[] = [
  "Q4_K_M",
  "Q4_K_S",
  "Q4_0",
  "Q4_K_L",
  "IQ4_XS",
  "IQ4_NL",
  "MXFP4",
  "Q5_K_M",
  "Q5_K_S",
  "Q6_K",
  "Q8_0",
  "Q3_K_M",
];
const LABEL =
  /(?:^|[-._])((?:UD-)?(?:I?Q\d(?:_[A-Z0-9]+)*|TQ\d_0|MXFP4(?:_[A-Z]+)?|BF16|F16|F32|FP16|FP32))(?=$|[-._])/gi;
const MOST_NAMED = 20;

interface Choice {
  readonly name: string;
  readonly label: string | null;
  readonly files: readonly HubFile[];
}

/**
 * Choose a model among a repository's files. A quantisation or a file's name is
 * matched whatever its letter case; where none is asked for, the first of
 * Q4_K_M, Q4_K_S, Q4_0 … that is there is taken, else the smallest file. Split
 * models are taken whole; vision parts are no choice by themselves.
 *
 * @param files The repository's GGUF files.
 * @param wanted A quantisation, a file name, or null.
 * @throws {Fault} `not_found`, naming what there is.
 */
export function chooseFiles(
  files: readonly HubFile[],
  wanted: string | null,
): readonly HubFile[] {
  const choices = choicesOf(files);
  if (choices.length === 0) {
    throw new Fault("not_found", "The repository holds no GGUF model");
  }
  const chosen = wanted === null
    ? preferred(choices)
    : choices.find((one) => answersTo(one, wanted.toLowerCase()));
  if (chosen !== undefined) return chosen.files;
  const known = choices.map(({ label, name }) => label ?? name);
  const list = [...new Set(known)].slice(0, MOST_NAMED).join(", ");
  throw new Fault(
    "not_found",
    `The repository has no ${JSON.stringify(wanted)}; it has ${list}`,
  );
}

/** What every machine that can use vision parts computes with first. */
const PROJECTORS: readonly string[] = ["F16", "FP16", "BF16", "Q8_0", "F32"];

/**
 * The vision part that goes with a repository's models, whichever of them is
 * chosen; null where there is none.
 *
 * @param files The repository's GGUF files.
 */
export function chooseProjector(files: readonly HubFile[]): HubFile | null {
  const parts = files.filter(({ path }) => /mmproj/i.test(baseOf(path)));
  const placeOf = ({ path }: HubFile) => {
    const place = PROJECTORS.indexOf(labelOf(baseOf(path).slice(0, -5)) ?? "");
    return place < 0 ? PROJECTORS.length : place;
  };
  return parts.toSorted((a, b) =>
    placeOf(a) - placeOf(b) || a.sizeBytes - b.sizeBytes
  )[0] ?? null;
}

function choicesOf(files: readonly HubFile[]): Choice[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const found = groupModelFiles(
    files.map(({ path, sizeBytes }) => ({
      path,
      sizeBytes,
      modifiedMs: null,
      identity: null,
    })),
  );
  return found.flatMap((one): Choice[] => {
    if (one.kind === "incomplete" || /mmproj|imatrix/i.test(one.name)) {
      return [];
    }
    const parts = one.files.flatMap(({ path }) => byPath.get(path) ?? []);
    return [{ name: one.name, label: labelOf(one.name), files: parts }];
  });
}

function labelOf(name: string): string | null {
  return [...name.matchAll(LABEL)].at(-1)?.[1]?.toUpperCase() ?? null;
}

function answersTo({ files, label, name }: Choice, wanted: string): boolean {
  return label?.toLowerCase() === wanted ||
    [name, `${name}.gguf`, ...files.map(({ path }) => path)].some((one) =>
      one.toLowerCase() === wanted
    );
}

function preferred(choices: readonly Choice[]): Choice | undefined {
  for (const label of PREFERRED) {
    const found = choices.find((one) => one.label === label);
    if (found !== undefined) return found;
  }
  const sizeOf = ({ files }: Choice) =>
    files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return choices.toSorted((a, b) => sizeOf(a) - sizeOf(b))[0];
}
