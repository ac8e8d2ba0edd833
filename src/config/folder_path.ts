/**
 * Make a path absolute.
 *
 * @param path What was given; `~/` stands for the home folder.
 * @param base Absolute folder that a relative path counts from.
 * @param home Home folder, or undefined where none is known.
 * @returns The path without `.`, `..` and doubled slashes.
 */
export function resolvePath(
  path: string,
  base: string,
  home: string | undefined,
): string {
  const whole = home !== undefined && (path === "~" || path.startsWith("~/"))
    ? `${home}${path.slice(1)}`
    : path.startsWith("/")
    ? path
    : `${base}/${path}`;
  const parts: string[] = [];
  for (const part of whole.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/**
 * Find the folder where programs of this platform keep their data.
 *
 * @param os Name of the operating system as the runtime says it.
 * @param env The environment.
 * @returns Covey's folder in it, or null where not even a home folder is known.
 */
export function findPlatformDataDir(
  os: string,
  env: Readonly<Record<string, string>>,
): string | null {
  const home = env["HOME"];
  const absoluteHome = home?.startsWith("/") ? home : null;
  if (os === "darwin") {
    return absoluteHome && `${absoluteHome}/Library/Application Support/Covey`;
  }
  // The XDG base directory specification says to ignore relative paths here.
  const xdg = env["XDG_DATA_HOME"];
  if (xdg?.startsWith("/")) return `${xdg}/covey`;
  return absoluteHome && `${absoluteHome}/.local/share/covey`;
}
