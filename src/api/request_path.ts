/** What a parser of URLs would leave as it is. */
const PLAIN = /^\/[\w~:\/-]*$/;
/** Longer than `https://`, so that what follows is the host. */
const SCHEME_LENGTH = "https://".length;

/**
 * The path of a request's URL, percent-encoded, with one slash in front.
 *
 * @param url An absolute URL as the runtime gives it.
 */
export function pathOf(url: string): string {
  const start = url.indexOf("/", SCHEME_LENGTH);
  const query = url.indexOf("?", SCHEME_LENGTH);
  const path = url.slice(start, query < 0 ? undefined : query);
  // Parsing costs more than all else that is done to find the route.
  if (start > 0 && PLAIN.test(path) && !path.startsWith("//")) return path;
  return new URL(url).pathname.replace(/^\/{2,}/, "/");
}
