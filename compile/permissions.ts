/**
 * What the program may do on a host: everything. The network and the files it
 * needs are where the operator's settings point, which a build cannot know;
 * starting itself again (the engine process) and loading llama.cpp can not be
 * narrowed; and the runtime gives /proc, which tells who holds a port, to
 * nothing less.
 */
export const PERMISSION_FLAGS: readonly string[] = [
  "--no-prompt",
  "--allow-all",
];
