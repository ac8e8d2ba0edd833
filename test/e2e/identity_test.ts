import assert from "node:assert/strict";
import { join } from "node:path";
import { newSecret } from "../../scripts/lab/new_secret.ts";
import { type NodeProcess, startNode } from "../../scripts/lab/node_process.ts";
import { eventually } from "../../scripts/lab/eventually.ts";
import { issueForTest } from "../../scripts/lab/licensed.ts";
import { isUsed } from "../../scripts/lab/members.ts";
import { HAS_CLUSTER } from "../../scripts/lab/cluster_code.ts";

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly self: boolean;
  readonly health: string;
  readonly seat: string | null;
  readonly state: string;
  readonly note: string | null;
  readonly addresses: readonly string[];
}

async function membersOf({ url }: NodeProcess): Promise<readonly Shown[]> {
  return (await (await fetch(`${url}/cluster/members`)).json()).members;
}

/** Variables of every node of one cluster. */
function clusterEnv(more: Readonly<Record<string, string>>) {
  return {
    COVEY_CLUSTER_SECRET: newSecret(),
    COVEY_ENGINE: "off",
    COVEY_LINK_HOST: "127.0.0.1",
    COVEY_LINK_PORT: "0",
    COVEY_MDNS_INTERFACES: "127.0.0.1",
    COVEY_PORT: "0",
    ...more,
  };
}

async function inFolder(
  check: (folder: string, stack: AsyncDisposableStack) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "covey-identity-" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  await check(folder, stack);
}

function sees(nodes: readonly NodeProcess[], count: number): Promise<unknown> {
  return eventually(`all see ${count} members`, async () => {
    const all = await Promise.all(nodes.map(membersOf));
    return all.every((members) =>
        members.length === count &&
        members.every(isUsed)
      )
      ? true
      : undefined;
  });
}

Deno.test({
  name:
    "a third node is refused with reason and remedy on both sides, and joins once a member has a licence",
  ignore: !HAS_CLUSTER,
  fn: () =>
    inFolder(async (folder, stack) => {
      const { command, env, licence } = await issueForTest(folder, "3");
      const cluster = clusterEnv(env);
      const start = async (name: string, more = {}) =>
        stack.use(
          await startNode({
            name,
            dataDir: join(folder, name),
            command,
            env: { ...cluster, ...more },
          }),
        );
      const anna = await start("anna");
      const ben = await start("ben");
      await sees([anna, ben], 2);
      const cleo = await start("cleo");
      const note = await eventually(
        "the third shows why it is alone",
        async () => (await membersOf(cleo))[0]?.note ?? undefined,
      );
      assert.match(note, /2 community seats.*covey remove.*COVEY_LICENCE/);
      assert.match(cleo.log(), /Failed to admit/);
      await eventually("a member says so too", () =>
        Promise.resolve(
          /not admitted|Failed to admit/.test(anna.log() + ben.log()) ||
            undefined,
        ));
      await sees([anna, ben], 2);
      await cleo.end("SIGTERM");
      await ben.end("SIGTERM");
      const licensed = await start("ben", { COVEY_LICENCE: licence });
      await sees([anna, licensed], 2);
      const again = await start("cleo");
      await sees([anna, licensed, again], 3);
      const seats = (await membersOf(anna)).map(({ seat }) => seat).sort();
      assert.deepEqual(seats, ["L-test", "community", "community"]);
      assert.equal((await membersOf(again))[0]?.note, null);
    }),
});

Deno.test({
  name:
    "a copied data folder: the first node stays, the copy is told what to do, and a reset makes it a node of its own (IDN-01)",
  ignore: !HAS_CLUSTER,
  fn: () =>
    inFolder(async (folder, stack) => {
      const { command, env, licence } = await issueForTest(folder, "unlimited");
      const cluster = clusterEnv({ ...env, COVEY_LICENCE: licence });
      const start = async (name: string, dataDir = name) =>
        stack.use(
          await startNode({
            name,
            dataDir: join(folder, dataDir),
            command,
            env: cluster,
          }),
        );
      const watcher = await start("watcher");
      const first = await start("first");
      await sees([watcher, first], 2);
      // As an image of the disk, the lock's file included.
      await new Deno.Command("cp", {
        args: ["-r", join(folder, "first"), join(folder, "copy")],
      }).output();
      const copy = await start("copy");
      const told = await eventually(
        "the watcher tells of two",
        async () =>
          (await membersOf(watcher)).find(({ note }) => note !== null)?.note ??
            undefined,
      );
      assert.match(
        told,
        /Two running nodes.*127\.0\.0\.1:\d+ was seen first.*127\.0\.0\.1:\d+ is refused.*covey identity reset/,
      );
      await eventually(
        "the copy knows",
        async () =>
          (await membersOf(copy)).find(({ self }) => self)?.note ?? undefined,
      );
      const shown = new Set<string>();
      for (let look = 0; look < 10; look++) {
        const other = (await membersOf(watcher)).find(({ self }) => !self);
        shown.add(`${other?.name} ${other?.addresses[0]}`);
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      assert.equal(shown.size, 1, [...shown].join("; "));
      assert.match([...shown][0] ?? "", /^first /);

      const reset = (...args: string[]) =>
        new Deno.Command(command[0] ?? "", {
          args: [...command.slice(1), "identity", "reset", ...args],
          env: { COVEY_DATA_DIR: join(folder, "copy") },
          stdout: "null",
          stderr: "piped",
        }).output();
      const busy = await reset("--yes");
      assert.equal(busy.code, 1);
      assert.match(new TextDecoder().decode(busy.stderr), /A node runs on/);
      await copy.end("SIGTERM");
      assert.equal((await reset("--yes")).code, 0);
      const own = await start("copy");
      await sees([watcher, first, own], 3);
    }),
});

Deno.test({
  name:
    "a node that is killed again and again while it writes keeps its identity (IDN-06)",
  ignore: !HAS_CLUSTER,
  fn: () =>
    inFolder(async (folder) => {
      const program = join(
        import.meta.dirname ?? ".",
        "../../scripts/lab/identity_writer.ts",
      );
      const seen = new Set<string>();
      for (let kill = 0; kill < 30; kill++) {
        const child = new Deno.Command(Deno.execPath(), {
          args: ["run", "--no-check", "-A", program, folder],
          stdout: "piped",
          stderr: "inherit",
        }).spawn();
        const reader = child.stdout.getReader();
        const { value } = await reader.read();
        seen.add(new TextDecoder().decode(value).trim());
        await reader.cancel();
        await new Promise((resolve) => setTimeout(resolve, kill % 7));
        child.kill("SIGKILL");
        await child.status;
      }
      assert.equal(seen.size, 1, [...seen].join("; "));
      assert.match([...seen][0] ?? "", /^[0-9a-f-]{36} [0-9a-f]{64}$/);
    }),
});
