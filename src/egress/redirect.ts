import { EgressError } from "./egress-error.ts";
import type { ResponseHeaders } from "./request.ts";

/** One request of an exchange: the first one, or one that follows a redirect. */
export interface Hop {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Headers that are not sent to another origin after a redirect. */
const CREDENTIALS: readonly string[] = ["authorization", "cookie", "proxy-authorization"];

/** Headers that describe the body, dropped if it is no longer sent. */
const OF_THE_BODY: readonly string[] = [
  "content-encoding",
  "content-language",
  "content-location",
  "content-type",
];

/** Whether a response is a redirect (RFC 9110, section 15.4). */
export function isRedirect(status: number, headers: ResponseHeaders): boolean {
  return REDIRECTS.has(status) && headers["location"] !== undefined;
}

/**
 * Returns the request that follows a redirect (RFC 9110, section 15.4; the Fetch standard where it is more precise).
 * The caller checks whether the grant allows it.
 *
 * @param credentials The names, in lower case, of other headers that are not sent to another origin.
 * @throws {EgressError} if the location is not exactly one URL, has credentials, or leads away from TLS.
 */
export function redirectedHop(
  hop: Hop,
  status: number,
  headers: ResponseHeaders,
  credentials: readonly string[],
): Hop {
  const location = headers["location"];
  const url = typeof location === "string" ? URL.parse(location, hop.url) : null;
  if (url === null)
    throw new EgressError("redirect_refused", "a redirect must have exactly one valid location");
  if (url.username !== "" || url.password !== "") {
    throw new EgressError("redirect_refused", "a redirect's location has credentials");
  }
  if (hop.url.protocol === "https:" && url.protocol !== "https:") {
    throw new EgressError("redirect_refused", "a redirect's location must be https:, like the request");
  }
  const becomesGet = (status === 303 && hop.method !== "HEAD") || (status < 303 && hop.method === "POST");
  const dropped = [
    ...(becomesGet ? OF_THE_BODY : []),
    ...(url.origin === hop.url.origin ? [] : [...CREDENTIALS, ...credentials]),
  ];
  return {
    method: becomesGet ? "GET" : hop.method,
    url,
    headers: without(hop.headers, dropped),
    body: becomesGet ? undefined : hop.body,
  };
}

function without(headers: Hop["headers"], names: readonly string[]): Hop["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())));
}
