import type { FetchLike } from "@modelcontextprotocol/client";
import { EgressError } from "../../egress/egress-error.ts";
import { AuthorizationError } from "../../sandboxes/remote/mcp-client/unsent.ts";
import { REQUEST_MS } from "../../sandboxes/remote/mcp-client/wire.ts";

/** Errors of RFC 6749, section 5.2, after which the client has to be registered again. */
const CLIENT_ERRORS: readonly unknown[] = ["invalid_client", "unauthorized_client"];

/**
 * Errors for which the SDK would print to the console what the authorization server says, which may repeat secrets, and send
 * the same request once more.
 */
const FINAL_ERRORS: readonly unknown[] = [...CLIENT_ERRORS, "invalid_grant", "invalid_dpop_proof"];

/** An authorization server gives no tokens. */
export class TokenRefusal extends AuthorizationError {
  override readonly name = "TokenRefusal";
  /** Whether it does not accept the client, rather than the code or the refresh token. */
  readonly isForClient: boolean;

  /** @param code One of {@link FINAL_ERRORS}. */
  constructor(code: string) {
    super(`the authorization server refuses: ${code}`);
    this.isForClient = CLIENT_ERRORS.includes(code);
  }
}

/** How one renewal of tokens reaches authorization servers. */
export interface AuthorizationChannel {
  readonly fetch: FetchLike;
  /**
   * Checks a URL that a browser is sent to.
   *
   * @throws {AuthorizationError} if it is not granted.
   */
  check(url: URL): void;
  /** Why it ended: an address that is not granted. The SDK would look for another one in its place. */
  readonly refusal: AuthorizationError | undefined;
}

/**
 * Sends the requests of one renewal, each with a deadline. After the first one that is not granted, it sends no other. A request
 * that is refused for good rejects with a {@link TokenRefusal}.
 *
 * @param isGranted Whether an authorization server can be at a URL. Metadata can also be elsewhere: they are sent nothing.
 */
export function authorizationChannel(
  fetch: FetchLike,
  isGranted: (url: URL) => boolean,
): AuthorizationChannel {
  let refusal: AuthorizationError | undefined;
  return {
    fetch: async (url, init) => {
      const asked = new URL(url);
      const isPost = (init?.method ?? "GET") !== "GET";
      if (isPost && !isGranted(asked)) refusal ??= notGranted(asked);
      if (refusal !== undefined) throw refusal;
      let response: Response;
      try {
        response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS) });
      } catch (error) {
        if (isDenied(error)) refusal = notGranted(asked);
        throw refusal ?? error;
      }
      if (isPost) await refuseFinal(response);
      return response;
    },
    check: (url) => {
      if (!isGranted(url)) throw notGranted(url);
    },
    get refusal() {
      return refusal;
    },
  };
}

/** @throws {TokenRefusal} if the SDK would read one of {@link FINAL_ERRORS}, which it does whatever the status is. */
async function refuseFinal(response: Response): Promise<void> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  const code = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
  if (typeof code === "string" && FINAL_ERRORS.includes(code)) throw new TokenRefusal(code);
}

function isDenied(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof EgressError && (cause.code === "origin_denied" || cause.code === "address_denied");
}

function notGranted({ origin }: URL): AuthorizationError {
  return new AuthorizationError(
    `its authorization server is at ${origin}, which is not granted: if you trust it, add it to oauth.net`,
  );
}
