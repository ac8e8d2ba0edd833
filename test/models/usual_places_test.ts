import assert from "node:assert/strict";
import { usualPlaces } from "../../src/models/import/usual_places.ts";

const foldersOf = (env: Readonly<Record<string, string>>, program: string) =>
  usualPlaces(env).flatMap((place) =>
    place.program === program ? [place.folder] : []
  );

Deno.test("usualPlaces looks first where Ollama was told to keep models", () => {
  const env = { HOME: "/home/a", OLLAMA_MODELS: "/big/ollama/" };
  assert.deepEqual(foldersOf(env, "Ollama").slice(0, 2), [
    "/big/ollama",
    "/home/a/.ollama",
  ]);
  assert.deepEqual(foldersOf({ OLLAMA_MODELS: "/big" }, "Ollama")[0], "/big");
});

Deno.test("usualPlaces takes Hugging Face's variables in that program's order", () => {
  const usual = "/home/a/.cache/huggingface/hub";
  const table: readonly [Record<string, string>, readonly string[]][] = [
    [{}, [usual]],
    [{ HF_HOME: "/hf" }, ["/hf/hub", usual]],
    [{ HF_HOME: "~/hf" }, ["/home/a/hf/hub", usual]],
    [{ HF_HOME: "/hf", HF_HUB_CACHE: "/cache" }, ["/cache", usual]],
    [{ HF_HOME: "/hf", HUGGINGFACE_HUB_CACHE: "/old" }, ["/old", usual]],
    // What is no absolute path would be of the node's own folder.
    [{ HF_HOME: "hf", HF_HUB_CACHE: " " }, [usual]],
    [{ HF_HUB_CACHE: usual }, [usual]],
    [{ XDG_CACHE_HOME: "/c" }, ["/c/huggingface/hub"]],
  ];
  for (const [env, folders] of table) {
    const seen = foldersOf({ HOME: "/home/a", ...env }, "Hugging Face");
    assert.deepEqual(seen, folders, JSON.stringify(env));
  }
});
