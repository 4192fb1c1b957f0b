import { hash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Sender } from "../../http/authentication.ts";
import type { OtherProofs } from "../../http/door.ts";
import { unauthenticated } from "../../http/refusals.ts";

const NAME = "sandgate_console";

/** The value of a cookie that a login began with: 256 bits. */
const COOKIE = new RegExp(`(?:^|; *)${NAME}=([\\w-]{43})(?:;|$)`);

/** Milliseconds after which a person has to log in again. */
export const LOGIN_MS: number = 12 * 3_600_000;
/** Milliseconds for which a one-time token can be used. */
const ONE_TIME_MS = 10 * 60_000;
const MAX_ONE_TIME = 100;
const MAX_LOGINS = 1_000;
/** Maximum number of logins of one credential. A further one ends the oldest of them. */
const MAX_OWN_LOGINS = 32;

/** A browser that has logged in. */
export interface Login {
  /** Whose credential it logged in with. */
  readonly sender: Sender;
  /** The origin of the page that logged in: the cookie counts for no other one. */
  readonly origin: string;
  /** Aborted at logout, when the credential is revoked, and when the time is over. */
  readonly ended: AbortSignal;
}

interface OpenLogin extends Login {
  readonly ending: AbortController;
  readonly timer: NodeJS.Timeout;
}

/** The logins of browsers, and the one-time tokens with which some begin. Only digests of secrets are retained. */
export class Logins implements NonNullable<OtherProofs["logins"]> {
  /** By the digests of their cookies, the oldest first. */
  readonly #open = new Map<string, OpenLogin>();
  readonly #oneTime = new Map<string, { readonly sender: Sender; readonly expiresAt: number }>();

  /** Returns a token with which one browser can log in within 10 minutes. Of more than 100, the oldest no longer work. */
  issue(sender: Sender): string {
    const token = randomBytes(32).toString("base64url");
    this.#oneTime.set(digestOf(token), { sender, expiresAt: Date.now() + ONE_TIME_MS });
    const [oldest] = this.#oneTime.keys();
    if (this.#oneTime.size > MAX_ONE_TIME && oldest !== undefined) this.#oneTime.delete(oldest);
    return token;
  }

  /** Takes a one-time token. It works once. Returns `undefined` if it is none. */
  redeem(token: string): Sender | undefined {
    const digest = digestOf(token);
    const found = this.#oneTime.get(digest);
    this.#oneTime.delete(digest);
    return found !== undefined && found.expiresAt > Date.now() ? found.sender : undefined;
  }

  /** Begins a login, and returns the value of its cookie. */
  begin(sender: Sender, origin: string): string {
    const own = [...this.#open].filter(([, login]) => login.sender.caller === sender.caller);
    const [oldestOwn] = own;
    const [oldest] = this.#open;
    if (own.length >= MAX_OWN_LOGINS && oldestOwn !== undefined) this.#end(...oldestOwn);
    else if (this.#open.size >= MAX_LOGINS && oldest !== undefined) this.#end(...oldest);
    const cookie = randomBytes(32).toString("base64url");
    const digest = digestOf(cookie);
    const ending = new AbortController();
    const timer = setTimeout(() => this.#end(digest, login), LOGIN_MS).unref();
    const login: OpenLogin = { sender, origin, ended: ending.signal, ending, timer };
    this.#open.set(digest, login);
    return cookie;
  }

  /** Returns the login of a request's cookie; `undefined` if it has none, or the cookie does not count for the request. */
  of(request: IncomingMessage): Login | undefined {
    const cookie = cookieOf(request);
    const login = cookie === undefined ? undefined : this.#open.get(digestOf(cookie));
    return login !== undefined && mayUseCookie(request, login.origin) ? login : undefined;
  }

  proven(request: IncomingMessage): Login | undefined {
    if (cookieOf(request) === undefined) return undefined;
    const login = this.of(request);
    if (login === undefined)
      throw unauthenticated("the login has ended, or is not of this page: log in again");
    return login;
  }

  /** Ends a login. */
  end(ended: Login): void {
    for (const [digest, login] of this.#open) if (login === ended) this.#end(digest, login);
  }

  /** Ends the logins whose credentials are gone, and forgets their one-time tokens. */
  endUnless(isCurrent: (sender: Sender) => boolean): void {
    for (const [digest, login] of this.#open) if (!isCurrent(login.sender)) this.#end(digest, login);
    for (const [digest, { sender }] of this.#oneTime) if (!isCurrent(sender)) this.#oneTime.delete(digest);
  }

  /** Ends all logins. */
  close(): void {
    this.endUnless(() => false);
  }

  #end(digest: string, { ending, timer }: OpenLogin): void {
    clearTimeout(timer);
    this.#open.delete(digest);
    ending.abort();
  }
}

function digestOf(secret: string): string {
  return hash("sha256", secret);
}

/** Returns the value of the console's cookie; `undefined` if none. */
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
function mayUseCookie({ method, headers }: IncomingMessage, own: string): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  if (origin !== undefined && origin !== own) return false;
  if (method === "GET" || method === "HEAD")
    return site === undefined || site === "same-origin" || site === "none";
  return (origin === own || site === "same-origin") && (site === undefined || site === "same-origin");
}
