/** Where a program keeps its models unless told otherwise. */
export interface UsualPlace {
  /** Name of the program, for people. */
  readonly program: string;
  /** Absolute path; nothing may be there. */
  readonly folder: string;
}

/**
 * Where programs that this machine may have keep their models, by their own
 * documentation.
 *
 * @param env Variables of the node: `HOME`, `XDG_CACHE_HOME`, and those by which
 *   the programs are told another place: `OLLAMA_MODELS`, `HF_HOME`,
 *   `HF_HUB_CACHE` and its older name `HUGGINGFACE_HUB_CACHE`.
 */
export function usualPlaces(
  env: Readonly<Record<string, string>>,
): readonly UsualPlace[] {
  const home = env["HOME"] ?? "";
  const folderIn = (name: string) => {
    const value = env[name]?.trim() ?? "";
    // Both programs understand a home folder's short form.
    const path = value.startsWith("~/") ? `${home}${value.slice(1)}` : value;
    return path.startsWith("/") ? path.replace(/(?<=.)\/+$/, "") : null;
  };
  const told = toldPlaces(folderIn);
  // Ollama as a service of Linux has a user of its own.
  const places: UsualPlace[] = [
    { program: "Ollama", folder: "/usr/share/ollama/.ollama" },
    { program: "Ollama", folder: "/var/lib/ollama" },
  ];
  if (!home.startsWith("/")) return distinct([...told, ...places]);
  const cache = folderIn("XDG_CACHE_HOME") ?? `${home}/.cache`;
  return distinct([
    ...told,
    { program: "Ollama", folder: `${home}/.ollama` },
    ...places,
    { program: "Hugging Face", folder: `${cache}/huggingface/hub` },
    { program: "LM Studio", folder: `${home}/.lmstudio/models` },
    { program: "LM Studio", folder: `${home}/.cache/lm-studio/models` },
    { program: "llama.cpp", folder: `${cache}/llama.cpp` },
  ]);
}

/** Places that the programs themselves were told; what lies in their usual ones is from before. */
function toldPlaces(
  folderIn: (name: string) => string | null,
): readonly UsualPlace[] {
  const ollama = folderIn("OLLAMA_MODELS");
  const hubHome = folderIn("HF_HOME");
  const hub = folderIn("HF_HUB_CACHE") ?? folderIn("HUGGINGFACE_HUB_CACHE") ??
    (hubHome === null ? null : `${hubHome}/hub`);
  return [
    ...ollama === null ? [] : [{ program: "Ollama", folder: ollama }],
    ...hub === null ? [] : [{ program: "Hugging Face", folder: hub }],
  ];
}

function distinct(places: readonly UsualPlace[]): readonly UsualPlace[] {
  const folders = new Map(places.map((place) => [place.folder, place]));
  return [...folders.values()];
}
