/** Where a server's routes are, made once from what somebody wrote. */
export interface UpstreamUrl {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Base of its own routes, without a slash at the end. */
  readonly root: string;
  /** Base of its OpenAI routes, which `/chat/completions` is appended to. */
  readonly openai: string;
}

/**
 * Read a server's address, with or without a slash or `/v1` at its end: all
 * forms mean the same.
 *
 * @param text An http or https URL.
 * @throws {TypeError} When it is no URL.
 */
export function parseUpstreamUrl(text: string): UpstreamUrl {
  const { origin, pathname } = new URL(text);
  const path = pathname.replace(/\/+$/, "").replace(/\/v1$/, "")
    .replace(/\/+$/, "");
  const root = `${origin}${path}`;
  return { origin, root, openai: `${root}/v1` };
}
