/** A message of a peer that breaks the protocol. The text never quotes what it held. */
export class WireError extends Error {
  override readonly name = "WireError";
}
