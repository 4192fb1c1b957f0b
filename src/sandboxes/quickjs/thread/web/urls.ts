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

/** The most characters of a URL: names of hosts take quadratic time, up to a length that the parser refuses. */
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

/** The most parameters of a query. Each takes the host about 100 bytes. */
const MAX_PARAMETERS = 65_536;

/**
 * Parses a query (WHATWG URL, section 5.1). Returns pairs of a name and a value.
 *
 * @param query Without `?`.
 * @throws {RangeError} if it has too many parameters.
 */
export function parseQuery(query: string): readonly (readonly [string, string])[] {
  let separators = 0;
  for (let at = query.indexOf("&"); at >= 0; at = query.indexOf("&", at + 1)) separators++;
  if (separators >= MAX_PARAMETERS) throw new RangeError("the query has more than 65,536 parameters");
  return [...new URLSearchParams(`?${query}`)];
}

function check(...texts: readonly string[]): void {
  if (texts.some(({ length }) => length > MAX_LENGTH))
    throw new RangeError("the URL is longer than 65,536 characters");
}

function partsOf(url: URL): UrlParts {
  return Object.fromEntries(PARTS.map((part) => [part, url[part]])) as UrlParts;
}
