/**
 * What the program may do on a host. Network and file access are needed where
 * the operator's settings point (any interface, any models folder), which a
 * build cannot know; running itself again (the engine process) and loading
 * llama.cpp can not be narrowed. Importing code from elsewhere is denied.
 */
export const PERMISSION_FLAGS: readonly string[] = [
  "--no-prompt",
  "--deny-import",
  "--allow-env",
  "--allow-ffi",
  "--allow-net",
  "--allow-read",
  "--allow-run",
  "--allow-sys",
  "--allow-write",
];
