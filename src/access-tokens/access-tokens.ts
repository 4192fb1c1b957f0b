import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { IssuerKeys, type Jose, loadJose } from "./issuer-keys.ts";
import {
  AccessTokenError,
  type AccessTokenOptions,
  checkAccessTokenOptions,
  type PrincipalClaims,
  SIGNATURE_ALGORITHMS,
} from "./options.ts";
import { type TokenSubject, tokenSubject } from "./token-principal.ts";

const NAMES: OptionNames<AccessTokenOptions> = {
  resource: true,
  issuer: true,
  jwksUri: true,
  scopes: true,
  tokenType: true,
  algorithms: true,
  principal: true,
};
const CLAIM_NAMES: OptionNames<PrincipalClaims> = { roles: true, attributes: true };

/** Longer tokens are refused unread. */
const MAX_CHARS = 8_192;
/** Seconds by which the clocks of the authorization server and of this machine may differ. */
const LEEWAY_S = 30;
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** An access token that was verified. */
export interface VerifiedToken extends TokenSubject {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Verifies the access tokens of one authorization server: JWTs of RFC 9068, whose audience is the resource (RFC 8707). The
 * tokens are only verified: they are not retained, and not passed on.
 */
export class AccessTokens {
  readonly #jose: Jose;
  readonly #options: AccessTokenOptions;
  readonly #keys: IssuerKeys;

  private constructor(jose: Jose, options: AccessTokenOptions) {
    this.#jose = jose;
    this.#options = options;
    this.#keys = new IssuerKeys(jose, options);
  }

  /** @throws {TypeError} as a rejection, if an option is invalid, or the package `jose` is not installed. */
  static async open(options: AccessTokenOptions): Promise<AccessTokens> {
    refuseUnknown(options, NAMES, "access tokens");
    if (options.principal !== undefined)
      refuseUnknown(options.principal, CLAIM_NAMES, "principal of access tokens");
    checkAccessTokenOptions(options);
    return new AccessTokens(await loadJose(), options);
  }

  /**
   * Verifies a token.
   *
   * @throws {AccessTokenError} as a rejection.
   */
  async verify(token: string): Promise<VerifiedToken> {
    if (token.length > MAX_CHARS || !COMPACT.test(token))
      throw invalid("the access token is not a JWT, or too long");
    const {
      issuer,
      resource,
      tokenType = "at+jwt",
      algorithms = SIGNATURE_ALGORITHMS,
      scopes = [],
    } = this.#options;
    const { payload } = await this.#jose
      .jwtVerify(token, (header, input) => this.#keys.find(header, input), {
        issuer,
        audience: resource,
        typ: tokenType,
        algorithms: [...algorithms],
        clockTolerance: LEEWAY_S,
        requiredClaims: ["exp", "sub"],
      })
      .catch((error: unknown) => {
        throw error instanceof AccessTokenError ? error : invalid(this.#reasonOf(error));
      });
    const subject = this.#subjectOf(payload);
    if (!scopes.every((scope) => subject.scopes.includes(scope))) {
      throw new AccessTokenError(
        "insufficient_scope",
        `the access token must have the scopes ${scopes.join(" ")}`,
      );
    }
    return { ...subject, expiresAt: ((payload.exp ?? 0) + LEEWAY_S) * 1_000 };
  }

  #reasonOf(error: unknown): string {
    const { JWTExpired, JWTClaimValidationFailed } = this.#jose.errors;
    if (error instanceof JWTExpired) return "the access token has expired";
    if (error instanceof JWTClaimValidationFailed) {
      return `the access token's ${REQUIRED.get(error.claim) ?? "claims"} cannot be accepted here`;
    }
    return "the access token has no valid signature of the authorization server";
  }

  #subjectOf(claims: Readonly<Record<string, unknown>>): TokenSubject {
    try {
      return tokenSubject(claims, this.#options);
    } catch {
      throw invalid("the access token's claims cannot be accepted here");
    }
  }

  /** Closes the connections to the authorization server. */
  close(): Promise<void> {
    return this.#keys.close();
  }
}

/** The claims that are checked, in words. */
const REQUIRED: ReadonlyMap<string, string> = new Map([
  ["iss", "issuer"],
  ["aud", "audience"],
  ["typ", "type"],
  ["nbf", "time of validity"],
]);

/** The errors of jose have the claims of the token, which no log must have: they are no causes. */
function invalid(message: string): AccessTokenError {
  return new AccessTokenError("invalid_token", message);
}
