/** A copy that ends without its model. The message is for the operator. */
export class CopyError extends Error {
  override readonly name = "CopyError";
}

/** A member that does not have, or no longer gives, what was asked of it. */
export class NotHeldError extends Error {
  override readonly name = "NotHeldError";
}
