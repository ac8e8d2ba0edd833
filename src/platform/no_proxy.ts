/** Names of the variables by which programs are told of a proxy; the small ones are older. */
const PROXIES = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "ALL_PROXY",
  "http_proxy",
  "https_proxy",
  "all_proxy",
];

/** Loopback, link-local and private networks, and the names of a home's own machines. */
const OWN_NETWORK = [
  "localhost",
  "127.0.0.0/8",
  "::1",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "100.64.0.0/10",
  "fc00::/7",
  "fe80::/10",
  ".local",
  ".lan",
  ".internal",
  ".home.arpa",
];

/** IPv6 addresses of the same kind, as a URL holds them: loopback, unique local, link-local. */
const OWN_IPV6 = /^\[(?:::1|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$/;

/**
 * Whether a server is in this machine's own networks by its address alone, and
 * thus never asked through a proxy.
 *
 * @param hostname Of a URL: `localhost`, or an address; any other name is not.
 */
export function isOwnNetwork(hostname: string): boolean {
  if (hostname === "localhost" || OWN_IPV6.test(hostname)) return true;
  const [, first, second] = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(hostname) ?? [];
  if (first === undefined) return false;
  const a = Number(first);
  const b = Number(second);
  return a === 127 || a === 10 || (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && b === 168) || (a === 169 && b === 254) ||
    (a === 100 && b >= 64 && b < 128);
}

/**
 * What `NO_PROXY` must hold so that servers on this machine and in its network
 * are asked directly: a proxy cannot reach them, or must not see what goes there.
 *
 * @param variable Reads a variable of the environment.
 * @returns The value for `NO_PROXY`, or null where no proxy is set.
 */
export function noProxyFor(
  variable: (name: string) => string | undefined,
): string | null {
  if (!PROXIES.some((name) => (variable(name) ?? "") !== "")) return null;
  const own = variable("NO_PROXY") ?? variable("no_proxy") ?? "";
  const said = own.split(",").map((one) => one.trim()).filter((one) =>
    one !== ""
  );
  return [...new Set([...said, ...OWN_NETWORK])].join(",");
}
