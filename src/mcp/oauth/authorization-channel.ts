import type { FetchLike } from "@modelcontextprotocol/client";
import { EgressError } from "../../egress/egress-error.ts";
import { AuthorizationError } from "../../sandboxes/remote/mcp-client/unsent.ts";
import { REQUEST_MS } from "../../sandboxes/remote/mcp-client/wire.ts";

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
 * Sends the requests of one renewal, each with a deadline. After the first one that is not granted, it sends no other.
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
      if ((init?.method ?? "GET") !== "GET" && !isGranted(asked)) refusal ??= notGranted(asked);
      if (refusal !== undefined) throw refusal;
      try {
        return await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS) });
      } catch (error) {
        if (isDenied(error)) refusal = notGranted(asked);
        throw refusal ?? error;
      }
    },
    check: (url) => {
      if (!isGranted(url)) throw notGranted(url);
    },
    get refusal() {
      return refusal;
    },
  };
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
