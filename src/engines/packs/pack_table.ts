/** A GPU library for llama.cpp that is not in the default install. */
export interface EnginePack {
  /** What it is asked for by. */
  readonly name: "vulkan" | "cuda";
  /** Which cards it is for, for people. */
  readonly cards: string;
  /** The machine it runs on. */
  readonly os: "linux";
  readonly arch: "x86_64";
  readonly packages: readonly PackPackage[];
}

/** A package of a pack, as the npm registry has it. */
export interface PackPackage {
  readonly name: string;
  /** Subresource integrity of its tarball: what was published when this build was made. */
  readonly integrity: `sha512-${string}`;
  /** Size of the tarball. */
  readonly sizeBytes: number;
}

/** Release of node-llama-cpp that this build loads; packs of another do not fit it. */
export const PACK_VERSION = "3.21.1";

/** Every pack there is. Apple silicon has Metal in the default install, a Pi has none. */
export const PACKS: readonly EnginePack[] = [
  {
    name: "vulkan",
    cards: "AMD, Intel and NVIDIA cards with a Vulkan driver",
    os: "linux",
    arch: "x86_64",
    packages: [{
      name: "@node-llama-cpp/linux-x64-vulkan",
      integrity:
        "sha512-flEeSzONQ6OIm5bYKLQf4eEnBzcC5WugFbyPUwkCqyyOFZ8pH0H9ulQ7ZNDLSIczeKneMRJornlyY1Hq7d3GDA==",
      sizeBytes: 27_476_121,
    }],
  },
  {
    name: "cuda",
    cards: "NVIDIA cards with NVIDIA's driver",
    os: "linux",
    arch: "x86_64",
    packages: [{
      name: "@node-llama-cpp/linux-x64-cuda",
      integrity:
        "sha512-idsE55VoD/FbvLhnBC9krUJaUoC0XnebseAAnCpm/brKf61HEbu+idgbb5eN6mxkjLSrHtILprJ0nDcUJjVrFg==",
      sizeBytes: 142_850_036,
    }, {
      name: "@node-llama-cpp/linux-x64-cuda-ext",
      integrity:
        "sha512-1PuURowccBcks3CCoMe1mTHh5vD0V5bFHMUEgtbI/OSDjpP+Pdbn+lf42CGUrepTzR8kCH1HovQ7d8q6/vuIKA==",
      sizeBytes: 176_679_086,
    }],
  },
];
