import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { AccessTokens } from "../../access-tokens/access-tokens.ts";
import { AccessTokenError, type AccessTokenOptions } from "../../access-tokens/options.ts";
import type { Sender } from "../../http/authentication.ts";
import { unavailable } from "../../http/refusals.ts";
import { RequestRefusal } from "../../remote-protocol/problems.ts";
import { ProtectedResource } from "./protected-resource.ts";

const BEARER = /^Bearer +([^ ]+)$/i;

/** Authenticates the senders of requests to the MCP server that have an access token. They are callers, and nothing else. */
export class TokenSenders {
  readonly resource: ProtectedResource;
  readonly #tokens: AccessTokens;

  private constructor(resource: ProtectedResource, tokens: AccessTokens) {
    this.resource = resource;
    this.#tokens = tokens;
  }

  /** @throws {TypeError} as a rejection, if an option is invalid, or the package `jose` is not installed. */
  static async open(options: AccessTokenOptions): Promise<TokenSenders> {
    return new TokenSenders(new ProtectedResource(options), await AccessTokens.open(options));
  }

  /**
   * Authenticates a sender without one of the server's own credentials.
   *
   * @param problem The refusal of the server's own authentication.
   * @throws {RequestRefusal} as a rejection: the problem itself unless an access token could be the answer to it.
   */
  async senderOf({ headers }: IncomingMessage, problem: unknown): Promise<Sender> {
    if (!(problem instanceof RequestRefusal) || problem.code !== "unauthenticated") throw problem;
    const [, token] = BEARER.exec(headers.authorization ?? "") ?? [];
    if (token === undefined) throw this.resource.refusal("the request must have an access token");
    try {
      const { principal, expiresAt } = await this.#tokens.verify(token);
      const { id, attributes = {} } = principal;
      const caller = `oauth ${JSON.stringify([id, attributes["clientId"] ?? null])}`;
      return { caller, credential: hash("sha256", token), principal, isSigned: false, expiresAt };
    } catch (error) {
      if (!(error instanceof AccessTokenError)) throw error;
      const { code, message } = error;
      throw code === "unavailable" ? unavailable(message, error.cause) : this.resource.refusal(message, code);
    }
  }

  /** Closes the connections to the authorization server. */
  close(): Promise<void> {
    return this.#tokens.close();
  }
}
