/**
 * Why an access token does not open anything. `invalid_token` and `insufficient_scope`: as in RFC 6750, section 3.1;
 * `unavailable`: it could not be verified, because the keys of the authorization server could not be fetched.
 */
export type AccessTokenProblem = "invalid_token" | "insufficient_scope" | "unavailable";

/** An access token was not accepted. Its message is for the client, and says nothing about the token's content. */
export class AccessTokenError extends Error {
  override readonly name = "AccessTokenError";
  readonly code: AccessTokenProblem;

  constructor(code: AccessTokenProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
