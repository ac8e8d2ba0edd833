import assert from "node:assert/strict";
import { findApiAccess } from "../../src/config/api_access.ts";
import { describeSettings } from "../../src/config/describe_settings.ts";
import {
  findPlatformDataDir,
  resolvePath,
} from "../../src/config/folder_path.ts";
import { Secret } from "../../src/domain/mod.ts";
import { FILE_KEYS, FLAGS } from "../../src/config/setting_names.ts";
import { SETTINGS } from "../../src/config/settings.ts";

Deno.test("SETTINGS has as keys the names that covey.jsonc uses", () => {
  for (const [key, setting] of Object.entries(SETTINGS)) {
    assert.equal(FILE_KEYS.get(key)?.setting, setting, key);
  }
});

Deno.test("SETTINGS accepts the fallback it documents", () => {
  for (
    const { variable, fallback, fallbackText, parse } of Object.values(SETTINGS)
  ) {
    const verdict = parse(fallbackText);
    // Fallbacks in words ("unset") may read as anything; plain values must agree.
    if (
      /^(?:[0-9a-z_.]+)$/.test(fallbackText) && fallback !== null &&
      !Array.isArray(fallback)
    ) {
      assert.deepEqual(
        verdict,
        { kind: "accepted", value: fallback },
        variable,
      );
    }
  }
});

Deno.test("describeSettings lists every flag and no flag for a secret's text", () => {
  const text = describeSettings();
  for (const [flag, { setting }] of FLAGS) {
    if (setting.later === undefined) assert(text.includes(flag), flag);
    assert(text.includes(setting.variable), setting.variable);
  }
  assert(!/--cluster-secret(?!-)/.test(text));
  assert(text.split("\n").every((line) => line.length <= 120));
});

Deno.test("findPlatformDataDir follows each platform's custom", () => {
  for (
    const [os, env, wanted] of [
      ["linux", { HOME: "/home/a" }, "/home/a/.local/share/covey"],
      ["linux", { HOME: "/home/a", XDG_DATA_HOME: "/x" }, "/x/covey"],
      [
        "linux",
        { HOME: "/home/a", XDG_DATA_HOME: "x" },
        "/home/a/.local/share/covey",
      ],
      [
        "darwin",
        { HOME: "/Users/a", XDG_DATA_HOME: "/x" },
        "/Users/a/Library/Application Support/Covey",
      ],
      ["linux", {}, null],
      ["darwin", { HOME: "relative" }, null],
    ] as const
  ) assert.equal(findPlatformDataDir(os, env), wanted);
});

Deno.test("resolvePath makes any path absolute", () => {
  for (
    const [path, wanted] of [
      ["a", "/base/a"],
      ["./a//b/", "/base/a/b"],
      ["../../../a", "/a"],
      ["/x/./y", "/x/y"],
      ["~", "/home/a"],
      ["~/y", "/home/a/y"],
      ["~ada", "/base/~ada"],
    ] as const
  ) assert.equal(resolvePath(path, "/base", "/home/a"), wanted);
});

Deno.test("findApiAccess prefers loopback and shows a key only where one is needed", () => {
  const key = new Secret("key-of-a-client");
  function find(hosts: readonly string[], trustLoopback: boolean) {
    const listen = hosts.map((host) => ({ host, port: 1 }));
    const found = findApiAccess({
      listen,
      apiKeys: [key],
      tls: null,
      trustLoopback,
    });
    return [found.origin, found.apiKey?.reveal() ?? null];
  }
  for (
    const [hosts, trustLoopback, origin, shown] of [
      [["0.0.0.0"], true, "http://127.0.0.1:1", null],
      [["::"], true, "http://[::1]:1", null],
      [["192.0.2.1", "127.0.0.1"], true, "http://127.0.0.1:1", null],
      [["127.0.0.1"], false, "http://127.0.0.1:1", "key-of-a-client"],
      [["fd00::1"], true, "http://[fd00::1]:1", "key-of-a-client"],
    ] as const
  ) assert.deepEqual(find(hosts, trustLoopback), [origin, shown]);
});

Deno.test("findApiAccess speaks TLS only to an address beyond loopback", () => {
  const find = (host: string) =>
    findApiAccess({
      listen: [{ host, port: 1 }],
      apiKeys: [],
      tls: { kind: "self" },
      trustLoopback: true,
    });
  assert.equal(find("0.0.0.0").origin, "https://127.0.0.1:1");
  assert.equal(find("127.0.0.1").origin, "http://127.0.0.1:1");
});
