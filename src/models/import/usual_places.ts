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
 * @param env Variables of the node: `HOME`, `XDG_CACHE_HOME`.
 */
export function usualPlaces(
  env: Readonly<Record<string, string>>,
): readonly UsualPlace[] {
  const home = env["HOME"] ?? "";
  const places: UsualPlace[] = [
    // Ollama as a service of Linux has a user of its own.
    { program: "Ollama", folder: "/usr/share/ollama/.ollama" },
    { program: "Ollama", folder: "/var/lib/ollama" },
  ];
  if (!home.startsWith("/")) return places;
  const cache = env["XDG_CACHE_HOME"]?.startsWith("/")
    ? env["XDG_CACHE_HOME"]
    : `${home}/.cache`;
  return [
    { program: "Ollama", folder: `${home}/.ollama` },
    ...places,
    { program: "Hugging Face", folder: `${cache}/huggingface/hub` },
    { program: "LM Studio", folder: `${home}/.lmstudio/models` },
    { program: "LM Studio", folder: `${home}/.cache/lm-studio/models` },
    { program: "llama.cpp", folder: `${cache}/llama.cpp` },
  ];
}
