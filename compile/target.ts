/** A kind of machine that Covey is built for. */
export interface Target {
  /** Name in `--target` and in the file's name. */
  readonly name: string;
  /** What `deno compile` calls it. */
  readonly triple: string;
  /** What npm calls its system and processor. */
  readonly npm: { readonly os: string; readonly arch: string };
  /** npm package that holds the runtime's binary for it. */
  readonly runtimePackage: string;
  /** The one prebuilt llama.cpp that belongs to it, below `@node-llama-cpp/`. */
  readonly enginePackage: string;
}

/** All targets. Windows, musl and 32-bit systems are none. */
export const TARGETS: readonly Target[] = [
  {
    name: "linux-x64",
    triple: "x86_64-unknown-linux-gnu",
    npm: { os: "linux", arch: "x64" },
    runtimePackage: "@deno/linux-x64-glibc",
    enginePackage: "linux-x64",
  },
  {
    name: "linux-arm64",
    triple: "aarch64-unknown-linux-gnu",
    npm: { os: "linux", arch: "arm64" },
    runtimePackage: "@deno/linux-arm64-glibc",
    enginePackage: "linux-arm64",
  },
  {
    name: "darwin-arm64",
    triple: "aarch64-apple-darwin",
    npm: { os: "darwin", arch: "arm64" },
    runtimePackage: "@deno/darwin-arm64",
    enginePackage: "mac-arm64-metal",
  },
  {
    name: "darwin-x64",
    triple: "x86_64-apple-darwin",
    npm: { os: "darwin", arch: "x64" },
    runtimePackage: "@deno/darwin-x64",
    enginePackage: "mac-x64",
  },
];

/**
 * Find a target by name.
 *
 * @param name For example `linux-x64`.
 * @returns The target, or undefined when Covey is not built for it.
 */
export function findTarget(name: string): Target | undefined {
  return TARGETS.find((target) => target.name === name);
}

/**
 * The target of the machine this runs on.
 *
 * @returns The target, or undefined on a machine Covey is not built for.
 */
export function hostTarget(): Target | undefined {
  return TARGETS.find((target) => target.triple === Deno.build.target);
}
