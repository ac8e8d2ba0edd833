/** A stretch of speech, in seconds from the beginning. */
export interface SpokenSegment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Write subtitles as SubRip has them.
 *
 * @param segments Stretches, in order.
 * @returns The file.
 */
export function writeSrt(segments: readonly SpokenSegment[]): string {
  return segments.map(({ start, end, text }, at) =>
    `${at + 1}\n${stamp(start, ",")} --> ${stamp(end, ",")}\n${
      oneCue(text)
    }\n\n`
  ).join("");
}

/**
 * Write subtitles as WebVTT has them.
 *
 * @param segments Stretches, in order.
 * @returns The file.
 */
export function writeVtt(segments: readonly SpokenSegment[]): string {
  return "WEBVTT\n\n" +
    segments.map(({ start, end, text }) =>
      `${stamp(start, ".")} --> ${stamp(end, ".")}\n${oneCue(text)}\n\n`
    ).join("");
}

function stamp(seconds: number, mark: string): string {
  const ms = Math.max(0, Math.round(seconds * 1000));
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `${two(ms / 3_600_000)}:${two(ms / 60_000 % 60)}:${
    two(ms / 1000 % 60)
  }${mark}${String(ms % 1000).padStart(3, "0")}`;
}

/** An empty line would end the cue, and an arrow begin another. */
function oneCue(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, "\n").replaceAll("-->", "->");
}
