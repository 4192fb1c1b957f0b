import type { IncomingMessage } from "node:http";

const NAME = "sandgate_console";
/** The value of a cookie that a login began with: 256 bits. */
const COOKIE = new RegExp(`(?:^|; *)${NAME}=([\\w-]{43})(?:;|$)`);

/** Returns the value of the console's cookie; `undefined` if there is none. */
export function cookieOf({ headers: { cookie = "" } }: IncomingMessage): string | undefined {
  return COOKIE.exec(cookie)?.[1];
}

/** Returns the header that sets the cookie. Scripts cannot read it, and requests that other sites cause do not have it. */
export function setCookie(value: string, maxAgeMs: number, origin: string): string {
  const attributes = `HttpOnly; SameSite=Strict; Path=/; Max-Age=${Math.floor(maxAgeMs / 1_000)}`;
  // Whether the connection is encrypted is known only to the browser, as a proxy may end the encryption.
  return `${NAME}=${value}; ${attributes}${origin.startsWith("https:") ? "; Secure" : ""}`;
}

/**
 * Whether the cookie counts for a request. `SameSite` is not enough: pages on other ports of the same host are of the same
 * site, and get the same cookies.
 *
 * @param own The origin of the page that logged in.
 */
export function mayUseCookie({ method, headers }: IncomingMessage, own: string): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  if (origin !== undefined && origin !== own) return false;
  if (method === "GET" || method === "HEAD")
    return site === undefined || site === "same-origin" || site === "none";
  return (origin === own || site === "same-origin") && (site === undefined || site === "same-origin");
}
