/**
 * Serves one file over plain HTTP on a port of its own, for a client to fetch
 * beside: `deno run -A serve_file.ts PATH PORT`.
 *
 * @module
 */
const [path = "", port = "0"] = Deno.args;
Deno.serve({ port: Number(port) }, async () => {
  const file = await Deno.open(path);
  const { size } = await file.stat();
  return new Response(file.readable, {
    headers: { "content-length": String(size) },
  });
});
