import { endOf } from "../../../scripts/lab/lan/run_program.ts";
import { HAS_CLUSTER } from "../../../scripts/lab/cluster_code.ts";

/** Debian package that brings a program of the test LAN. */
const PACKAGES: Readonly<Record<string, string>> = {
  "avahi-browse": "avahi-utils",
  "avahi-daemon": "avahi-daemon",
  "avahi-publish": "avahi-utils",
  curl: "curl",
  ethtool: "ethtool",
  python3: "python3",
  "dbus-daemon": "dbus",
  ip: "iproute2",
  nft: "nftables",
  tcpdump: "tcpdump",
};

const missing = await findMissing();

/**
 * A test that needs a LAN of network namespaces. Where it can not run it is
 * skipped, and its name says what to do about it.
 *
 * @param name What it shows.
 * @param programs What it runs beside `ip` and `curl`.
 * @param fn The test.
 */
export function lanTest(
  name: string,
  programs: readonly string[],
  fn: () => Promise<void>,
): void {
  const lacks = ["ip", "curl", ...programs].filter((one) => missing.has(one));
  const reasons = [
    ...HAS_CLUSTER ? [] : ["needs ee/"],
    ...Deno.build.os === "linux" && Deno.uid() === 0
      ? []
      : ["needs root on Linux"],
    ...lacks.length === 0 ? [] : [
      `needs apt-get install ${lacks.map((one) => PACKAGES[one]).join(" ")}`,
    ],
  ];
  Deno.test({
    name: reasons.length === 0 ? name : `${name} (${reasons.join("; ")})`,
    ignore: reasons.length > 0,
    fn,
  });
}

async function findMissing(): Promise<ReadonlySet<string>> {
  if (Deno.build.os !== "linux") return new Set();
  const script = Object.keys(PACKAGES)
    .map((one) => `command -v ${one} >/dev/null || echo ${one}`).join("\n");
  const { stdout } = await endOf(["sh", "-c", script]);
  return new Set(stdout.split("\n").filter((one) => one !== ""));
}
