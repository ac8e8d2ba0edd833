/** File in the data folder that a running node holds for itself. */
export const LOCK_FILE = "node.lock";
