import assert from "node:assert/strict";
import { isOwnNetwork, noProxyFor } from "../../src/platform/mod.ts";

Deno.test("noProxyFor adds this machine's networks to what is said, where a proxy is set", () => {
  const from = (variables: Readonly<Record<string, string>>) =>
    noProxyFor((name) => variables[name]);
  assert.equal(from({}), null);
  assert.equal(from({ HTTP_PROXY: "", NO_PROXY: "a" }), null);
  for (const name of ["HTTP_PROXY", "https_proxy", "ALL_PROXY"]) {
    const list = from({ [name]: "http://proxy:3128" })?.split(",") ?? [];
    for (const one of ["localhost", "127.0.0.0/8", "::1", "192.168.0.0/16"]) {
      assert(list.includes(one), `${one} with ${name}`);
    }
  }
  const said = from({ HTTPS_PROXY: "p", no_proxy: " gpu-box, ::1 ,," });
  assert.match(said ?? "", /^gpu-box,::1,localhost,/);
  assert.equal(said?.split(",").filter((one) => one === "::1").length, 1);
});

Deno.test("isOwnNetwork knows the addresses that no proxy is asked for, and no name but localhost", () => {
  const hostOf = (url: string) => new URL(url).hostname;
  const own = [
    "http://localhost:1",
    "http://127.1:1",
    "http://0x7f.0.0.9",
    "http://10.255.0.1",
    "http://172.16.0.1",
    "http://172.31.255.255",
    "http://192.168.7.7",
    "http://169.254.1.1",
    "http://100.64.0.1",
    "http://[0:0::1]:1",
    "http://[fd00::5]",
    "http://[fe80::1]",
    "http://[febf::1]",
  ];
  const others = [
    "http://gpu-box.lan",
    "http://localhost.example",
    "http://10.example",
    "http://172.32.0.1",
    "http://172.15.0.1",
    "http://192.169.0.1",
    "http://100.128.0.1",
    "http://1.1.1.1",
    "http://[::2]",
    "http://[fec0::1]",
    "http://[2001:db8::1]",
    "http://[::ffff:8.8.8.8]",
  ];
  for (const url of own) assert(isOwnNetwork(hostOf(url)), url);
  for (const url of others) assert(!isOwnNetwork(hostOf(url)), url);
});

Deno.test("servers on this machine and in its network are asked without the proxy that is set", async () => {
  const asked: string[] = [];
  const proxy = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => {
      asked.push(new URL(request.url).hostname);
      return new Response("from the proxy");
    },
  );
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("from the server"),
  );
  try {
    const modules = ["platform/mod.ts", "engines/own_fetch.ts"].map((path) =>
      JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href)
    );
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        "--no-check",
        `const { createSystemClock, noProxyFor } = await import(${modules[0]});
         const { createOwnFetch } = await import(${modules[1]});
         Deno.env.set("NO_PROXY", noProxyFor((name) => Deno.env.get(name)));
         const { fetch } = createOwnFetch(createSystemClock());
         for (const url of Deno.args) console.log(await (await fetch(url, {})).text());`,
        `http://127.0.0.1:${server.addr.port}/`,
        `http://localhost:${server.addr.port}/`,
        "http://provider.example/",
      ],
      env: { HTTP_PROXY: `http://127.0.0.1:${proxy.addr.port}`, NO_COLOR: "1" },
    }).output();
    assert.deepEqual(
      new TextDecoder().decode(stdout).trim().split("\n"),
      ["from the server", "from the server", "from the proxy"],
    );
    assert.deepEqual(asked, ["provider.example"]);
  } finally {
    await proxy.shutdown();
    await server.shutdown();
  }
});
