import type { IncomingMessage } from "node:http";
import { unauthenticated } from "../../http/refusals.ts";
import { cookieOf } from "./cookie.ts";
import type { Login, Logins } from "./logins.ts";

/** Where browsers log in and out. */
export const LOGIN_PATH = "/v1/console/session";
/** The longest body of a login. */
export const MAX_LOGIN_BYTES = 8_192;
/** The name of those who have not logged in yet. */
export const LOGIN_CALLER = "login";
/** Stands for the login of a request that logs in. */
export const LOGGING_IN: Pick<Login, "sender" | "ended"> = {
  sender: { caller: LOGIN_CALLER, credential: "", principal: undefined, isSigned: false },
  ended: new AbortController().signal,
};

/**
 * Returns the login of a request that has its cookie and no other credential.
 *
 * @param console That of the server. Default: it has none.
 * @throws {RemoteProblem} `unauthenticated` if the cookie does not count.
 */
export function loginOf(
  request: IncomingMessage,
  console: { readonly logins: Logins } | undefined,
): Pick<Login, "sender" | "ended"> | undefined {
  const { authorization, "signature-input": signature } = request.headers;
  if (console === undefined || authorization !== undefined || signature !== undefined) return undefined;
  if (request.method === "POST" && request.url === LOGIN_PATH) return LOGGING_IN;
  if (cookieOf(request) === undefined) return undefined;
  const login = console.logins.of(request);
  if (login === undefined) throw unauthenticated("the login has ended, or is not of this page: log in again");
  return login;
}
