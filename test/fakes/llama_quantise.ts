/**
 * Has llama.cpp's own library quantise a model to Q8_0, in a process of its own.
 *
 * Run `deno run -A test/fakes/llama_quantise.ts FOLDER IN OUT`, with FOLDER the
 * libraries' one, which LD_LIBRARY_PATH names as well.
 *
 * @module
 */
const [folder = "", from = "", to = ""] = Deno.args;
/** `LLAMA_FTYPE_MOSTLY_Q8_0`. */
const Q8_0 = 7;
/** Longer than the library's parameters are: it writes what it has. */
const PARAMETERS = {
  struct: ["i32", "i32", ...Array.from({ length: 15 }, () => "u64" as const)],
} as const;

const backends = Deno.dlopen(`${folder}/libggml.v0.4.0.so`, {
  ggml_backend_load_all_from_path: { parameters: ["buffer"], result: "void" },
});
const llama = Deno.dlopen(`${folder}/libllama.v0.4.0.so`, {
  llama_backend_init: { parameters: [], result: "void" },
  llama_model_quantize_default_params: { parameters: [], result: PARAMETERS },
  llama_model_quantize: {
    parameters: ["buffer", "buffer", "buffer"],
    result: "u32",
  },
});
const text = (one: string) => new TextEncoder().encode(`${one}\0`);
backends.symbols.ggml_backend_load_all_from_path(text(folder));
llama.symbols.llama_backend_init();
const parameters = llama.symbols.llama_model_quantize_default_params();
const view = new DataView(parameters.buffer, parameters.byteOffset);
view.setInt32(0, 1, true);
view.setInt32(4, Q8_0, true);
Deno.exit(
  llama.symbols.llama_model_quantize(text(from), text(to), parameters),
);
