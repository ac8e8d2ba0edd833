const SECONDS = /^[0-9]+$/;
const IMF_DATE =
  /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const RFC_850_DATE =
  /^[A-Z][a-z]{5,8}, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const ASCTIME_DATE =
  /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/;
const MEAN_YEAR_MS = 31_556_952_000;
/** From 1 March of the year 0 to 1 January 1970. */
const DAYS_TO_EPOCH = 719_468;
const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

/**
 * Read a Retry-After header in each of HTTP's forms (RFC 9110, 10.2.3 and
 * 5.6.7): whole seconds, or one of three dates.
 *
 * @param text The header's value, or null.
 * @param nowMs Wall-clock time, for dates.
 * @returns Milliseconds from now, 0 for a date that is past, null for anything else.
 */
export function parseRetryAfter(
  text: string | null,
  nowMs: number,
): number | null {
  const trimmed = text?.trim() ?? "";
  if (SECONDS.test(trimmed)) return Number(trimmed) * 1000;
  const atMs = parseHttpDate(trimmed, nowMs);
  return atMs === null ? null : Math.max(0, atMs - nowMs);
}

function parseHttpDate(text: string, nowMs: number): number | null {
  const imf = IMF_DATE.exec(text);
  if (imf !== null) {
    const [, day, month, year, hour, minute, second] = imf;
    return dateOf(Number(year), month, day, hour, minute, second);
  }
  const rfc850 = RFC_850_DATE.exec(text);
  if (rfc850 !== null) {
    const [, day, month, short, hour, minute, second] = rfc850;
    const thisYear = 1970 + Math.floor(nowMs / MEAN_YEAR_MS);
    let year = thisYear - thisYear % 100 + Number(short);
    // More than 50 years ahead means the last century (RFC 9110, 5.6.7).
    if (year > thisYear + 50) year -= 100;
    return dateOf(year, month, day, hour, minute, second);
  }
  const asctime = ASCTIME_DATE.exec(text);
  if (asctime !== null) {
    const [, month, day, hour, minute, second, year] = asctime;
    return dateOf(Number(year), month, day, hour, minute, second);
  }
  return null;
}

function dateOf(
  year: number,
  monthName = "",
  day = "",
  hour = "",
  minute = "",
  second = "",
): number | null {
  const month = MONTHS.indexOf(monthName) / 3;
  // A leap second, 60, is the next minute's first.
  if (
    !Number.isInteger(month) || month < 0 || Number(day) < 1 ||
    Number(day) > 31 || Number(hour) > 23 || Number(minute) > 59 ||
    Number(second) > 60
  ) return null;
  const days = daysSinceEpoch(year, month + 1, Number(day));
  const hours = days * 24 + Number(hour);
  return ((hours * 60 + Number(minute)) * 60 + Number(second)) * 1000;
}

/** Days of the Gregorian calendar, with years that begin in March so that the leap day is last. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return shifted * 365 + Math.floor(shifted / 4) - Math.floor(shifted / 100) +
    Math.floor(shifted / 400) + dayOfYear - DAYS_TO_EPOCH;
}
