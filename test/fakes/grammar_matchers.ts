import { getLlama, LlamaLogLevel } from "node-llama-cpp";

/** llama.cpp's own judgement, which node-llama-cpp keeps for its tests. */
interface Matcher {
  _testText(text: string): boolean;
}

/** Makes matchers of grammars, by llama.cpp itself. Disposing of it ends that. */
export interface GrammarMatchers extends AsyncDisposable {
  /**
   * Make one.
   *
   * @param grammar Its text.
   * @returns Whether a text is of the grammar.
   * @throws {Error} When llama.cpp does not read the grammar.
   */
  of(grammar: string): Promise<(text: string) => boolean>;
}

/** Load llama.cpp for that. */
export async function loadGrammarMatchers(): Promise<GrammarMatchers> {
  const llama = await getLlama({
    gpu: false,
    build: "never",
    maxThreads: 1,
    logLevel: LlamaLogLevel.disabled,
  });
  return {
    async of(grammar) {
      const compiled = await llama.createGrammar({ grammar });
      const matcher = compiled as unknown as Matcher;
      return (text) => matcher._testText(text);
    },
    [Symbol.asyncDispose]: () => llama.dispose(),
  };
}
