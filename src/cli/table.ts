/**
 * Lay out rows in columns, two blanks apart.
 *
 * @param rows Cells by row; the text of each is one line already.
 * @param rightAligned Indexes of columns whose cells end flush.
 * @returns Lines without trailing blanks.
 */
export function formatTable(
  rows: readonly (readonly string[])[],
  rightAligned: readonly number[] = [],
): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) {
      widths[at] = Math.max(widths[at] ?? 0, [...cell].length);
    }
  }
  return rows.map((row) =>
    row.map((cell, at) => {
      const blanks = " ".repeat((widths[at] ?? 0) - [...cell].length);
      return rightAligned.includes(at) ? blanks + cell : cell + blanks;
    }).join("  ").trimEnd()
  ).join("\n");
}
