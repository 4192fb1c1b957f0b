import type { FetchLike } from "@modelcontextprotocol/client";
import type { Sdk } from "../../sandboxes/remote/mcp-client/sdk.ts";
import { AuthorizationError } from "../../sandboxes/remote/mcp-client/unsent.ts";
import type { Challenge, OAuthSession } from "./oauth-session.ts";

/** How often a request is sent: without tokens, with tokens, and with more scopes. */
const MAX_ATTEMPTS = 3;

/** Adds the access token to requests. One that a server refuses for want of tokens or scopes is sent again with others. */
export function oauthFetch(sdk: Sdk, fetch: FetchLike, session: OAuthSession): FetchLike {
  return async (url, init = {}) => {
    for (let attempt = 1; ; attempt++) {
      const token = await session.token();
      const headers = new Headers(init.headers);
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
      const response = await fetch(url, { ...init, headers });
      const challenge = challengeOf(sdk, response);
      if (challenge === undefined) return response;
      if (challenge.isInsufficient && (attempt === MAX_ATTEMPTS || (await session.covers(challenge)))) {
        return response;
      }
      await response.body?.cancel();
      if (attempt === MAX_ATTEMPTS)
        throw new AuthorizationError("the server refuses the tokens that are for it");
      await session.renew(challenge, token);
    }
  };
}

function challengeOf(sdk: Sdk, response: Response): Challenge | undefined {
  if (response.status !== 401 && response.status !== 403) return undefined;
  const { resourceMetadataUrl, scope, error } = sdk.extractWWWAuthenticateParams(response);
  const isInsufficient = response.status === 403;
  if (isInsufficient && error !== "insufficient_scope") return undefined;
  return { resourceMetadataUrl, scope, isInsufficient };
}
