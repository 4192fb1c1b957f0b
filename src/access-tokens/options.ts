import { POINTER_PATTERN } from "../json/pointer.ts";

/**
 * Why an access token was rejected. `invalid_token` and `insufficient_scope`: as in RFC 6750, section 3.1;
 * `unavailable`: it could not be verified, because the keys of the authorization server could not be fetched.
 */
export type AccessTokenProblem = "invalid_token" | "insufficient_scope" | "unavailable";

/**
 * An access token was rejected. The message is for the client, and says nothing about the token's content.
 */
export class AccessTokenError extends Error {
  override readonly name = "AccessTokenError";
  readonly code: AccessTokenProblem;

  constructor(code: AccessTokenProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Which access tokens of an authorization server are accepted, and whose they are. */
export interface AccessTokenOptions {
  /**
   * The identifier of the resource that the tokens are for (RFC 8707), such as
   * `https://tools.example.com/mcp`. The claim `aud` of a token must have exactly this text.
   */
  readonly resource: string;
  /**
   * The issuer of the tokens, which must be exactly their claim `iss`. Its metadata (RFC 8414, or OpenID
   * Connect Discovery) says where its keys are.
   */
  readonly issuer: string;
  /** Where the keys are (a JWK Set). Default: where the issuer's metadata says. */
  readonly jwksUri?: string;
  /** The scopes, all of which a token must have. Default: none. */
  readonly scopes?: readonly string[];
  /**
   * The `typ` in the header of a token. `at+jwt` is that of RFC 9068, section 2.1; some authorization servers write `JWT`.
   * Default: `"at+jwt"`.
   */
  readonly tokenType?: TokenType;
  /** The algorithms of the signatures. Default: all {@link SIGNATURE_ALGORITHMS}. */
  readonly algorithms?: readonly SignatureAlgorithm[];
  /** Which claims of a token the principal gets, besides the ones that it always has. Default: none. */
  readonly principal?: PrincipalClaims;
}

/** Claims of an access token, by JSON pointers (RFC 6901) such as `/realm_access/roles`. */
export interface PrincipalClaims {
  /** A claim with a list of strings, which become roles of the principal. Default: no claim does. */
  readonly roles?: string;
  /**
   * Claims that become attributes, by the names of the attributes. Claims that a token does not have are left
   * out. Default: none.
   */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** The types of access tokens. */
export const TOKEN_TYPES: readonly TokenType[] = Object.freeze(["at+jwt", "JWT"] as const);
/** See {@link AccessTokenOptions.tokenType}. */
export type TokenType = "at+jwt" | "JWT";

/**
 * The supported signature algorithms: asymmetric ones only. With `HS256` and the like, a public key could be
 * used as a secret.
 */
export const SIGNATURE_ALGORITHMS: readonly SignatureAlgorithm[] = Object.freeze([
  ...(["ES256", "ES384", "ES512", "Ed25519", "EdDSA"] as const),
  ...(["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"] as const),
]);
/** A signature algorithm (RFC 7518, RFC 8037). */
export type SignatureAlgorithm = `${"ES" | "PS" | "RS"}${256 | 384 | 512}` | "Ed25519" | "EdDSA";

/** Attributes that every principal with an access token has. */
export const OWN_ATTRIBUTES: readonly string[] = Object.freeze(["issuer", "clientId", "scopes"]);

/** RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const POINTER = new RegExp(POINTER_PATTERN);

/** @throws {TypeError} if an option is invalid. */
export function checkAccessTokenOptions(options: AccessTokenOptions): void {
  const {
    resource,
    issuer,
    jwksUri,
    scopes = [],
    tokenType = "at+jwt",
    algorithms,
    principal = {},
  } = options;
  checkUrl(resource, "resource");
  checkUrl(issuer, "issuer");
  if (jwksUri !== undefined) checkUrl(jwksUri, "jwksUri");
  const invalid = scopes.find((scope) => !SCOPE.test(scope));
  if (invalid !== undefined) {
    throw new TypeError(`the scope '${invalid}' has characters that a scope cannot have`);
  }
  if (!TOKEN_TYPES.includes(tokenType)) {
    throw new TypeError(`the tokenType must be one of ${TOKEN_TYPES.join(", ")}`);
  }
  if (algorithms?.length === 0) throw new TypeError("algorithms must not be empty");
  const unknown = algorithms?.find((algorithm) => !SIGNATURE_ALGORITHMS.includes(algorithm));
  if (unknown !== undefined) {
    throw new TypeError(`the algorithm '${unknown}' must be one of ${SIGNATURE_ALGORITHMS.join(", ")}`);
  }
  checkClaims(principal);
}

function checkClaims({ roles, attributes = {} }: PrincipalClaims): void {
  for (const pointer of [...(roles === undefined ? [] : [roles]), ...Object.values(attributes)]) {
    if (pointer === "" || !POINTER.test(pointer)) {
      throw new TypeError(`'${pointer}' must be a JSON pointer to a claim, such as /groups`);
    }
  }
  const taken = Object.keys(attributes).find((name) => OWN_ATTRIBUTES.includes(name));
  if (taken !== undefined)
    throw new TypeError(`the attribute '${taken}' has another meaning: use another name`);
}

/** Whether responses from a URL can be trusted: they cannot be changed in transit. */
export function isTrustworthy({ protocol, hostname }: URL): boolean {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return protocol === "https:" || (protocol === "http:" && isLocal);
}

function checkUrl(text: string, what: string): void {
  const url = URL.parse(text);
  if (url === null || !isTrustworthy(url) || url.username + url.password + url.hash !== "") {
    throw new TypeError(`the ${what} '${text}' must be an https: URL without a user or a fragment`);
  }
}
