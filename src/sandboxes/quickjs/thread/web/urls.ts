/** The parts of a URL, as the interface `URL` has them. */
export type UrlParts = Readonly<Record<(typeof PARTS)[number], string>>;

const PARTS = [
  "href",
  "origin",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
] as const;

const SETTABLE: ReadonlySet<string> = new Set(PARTS.filter((part) => part !== "origin" && part !== "href"));

/** The most characters of a URL, which the parser takes a few milliseconds for, whatever they are. */
const MAX_LENGTH = 65_536;

/**
 * Parses a URL (WHATWG URL, section 4.4). Returns `null` if it is invalid.
 *
 * @throws {RangeError} if it is too long.
 */
export function parseUrl(url: string, base: string | undefined): UrlParts | null {
  check(url, base ?? "");
  const parsed = URL.parse(url, base);
  return parsed && partsOf(parsed);
}

/** Sets a part of a URL as the interface's setters do. Returns `null` if the URL is invalid. */
export function setUrlPart(href: string, part: string, value: string): UrlParts | null {
  check(href, value);
  const url = URL.parse(href);
  if (url === null || !SETTABLE.has(part)) return null;
  url[part as "hash"] = value;
  return partsOf(url);
}

function check(...texts: readonly string[]): void {
  if (texts.some(({ length }) => length > MAX_LENGTH))
    throw new RangeError("the URL is longer than 65,536 characters");
}

function partsOf(url: URL): UrlParts {
  return Object.fromEntries(PARTS.map((part) => [part, url[part]])) as UrlParts;
}
