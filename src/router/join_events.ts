/**
 * Put events that are at hand together, so that they go out in one write. Most
 * lie behind each other in the piece they came in, and stay there.
 *
 * @param events Raw events, at least one.
 * @returns Their bytes.
 */
export function joinEvents(events: readonly Uint8Array[]): Uint8Array {
  const [first] = events;
  if (first === undefined) throw new RangeError("There is no event to send");
  if (events.length === 1) return first;
  let sizeBytes = 0;
  let isOnePiece = true;
  for (const { buffer, byteOffset, length } of events) {
    isOnePiece &&= buffer === first.buffer &&
      byteOffset === first.byteOffset + sizeBytes;
    sizeBytes += length;
  }
  if (isOnePiece) {
    return new Uint8Array(first.buffer, first.byteOffset, sizeBytes);
  }
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const event of events) {
    whole.set(event, at);
    at += event.length;
  }
  return whole;
}
