/** A copy that ends without its model. The message is for the operator. */
export class CopyError extends Error {
  override readonly name = "CopyError";
}

/** An operator stops a copy for now: what came stays, and the copy with it. */
export class CopyPaused extends Error {
  override readonly name = "CopyPaused";
}

/** A member that does not have, or no longer gives, what was asked of it. */
export class NotHeldError extends Error {
  override readonly name = "NotHeldError";
}
