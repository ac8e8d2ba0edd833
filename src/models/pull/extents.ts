/** Which bytes of a file are here: ranges that neither touch nor overlap, in order. */
export class Extents {
  #ranges: { readonly start: number; readonly end: number }[] = [];

  /**
   * Note that bytes are here.
   *
   * @param start Where they begin.
   * @param end Where they end, exclusive.
   * @returns The range that they are part of by now.
   */
  add(
    start: number,
    end: number,
  ): { readonly start: number; readonly end: number } {
    const apart = this.#ranges.filter((one) =>
      one.end < start || one.start > end
    );
    const joined = this.#ranges.filter((one) => !apart.includes(one));
    const range = {
      start: Math.min(start, ...joined.map((one) => one.start)),
      end: Math.max(end, ...joined.map((one) => one.end)),
    };
    this.#ranges = [...apart, range].sort((a, b) => a.start - b.start);
    return range;
  }

  /** Note that bytes are not here any more. */
  remove(start: number, end: number): void {
    this.#ranges = this.#ranges.flatMap((one) =>
      [
        { start: one.start, end: Math.min(one.end, start) },
        { start: Math.max(one.start, end), end: one.end },
      ].filter((rest) => rest.start < rest.end)
    );
  }

  /** Whether all bytes of a range are here. */
  covers(start: number, end: number): boolean {
    return this.#ranges.some((one) => one.start <= start && one.end >= end);
  }
}
