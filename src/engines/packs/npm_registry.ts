/**
 * Read which npm registry is to be asked.
 *
 * @param said What a variable or `npm config get registry` says.
 * @returns Its base address without a slash at the end, or null where that is none.
 */
export function parseRegistry(said: string): string | null {
  const text = said.trim();
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return text.replace(/\/+$/, "");
}
