import { hash } from "node:crypto";
import { httpbis } from "http-message-signatures";

const SHA_256 = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;

/** The signed parts of a request. Its body is covered by the digest in its headers. */
export interface SignedMessage {
  readonly method: string;
  /** The value of the `host` header. */
  readonly authority: string;
  /** The path with the query. */
  readonly path: string;
  /** Headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** The components that every signature covers. */
export const ALWAYS_COVERED: readonly string[] = Object.freeze(["@method", "@authority", "@path"]);
/** The components that the signature of a request with a body covers in addition. */
export const COVERED_WITH_BODY: readonly string[] = Object.freeze(["content-digest", "content-type"]);

/** The `tag` of every signature. Signatures that were made for other purposes are not accepted. */
export const SIGNATURE_TAG = "sandgate";
/** The name of the only supported algorithm in the registry of RFC 9421. */
export const SIGNATURE_ALGORITHM = "ed25519";

/**
 * Returns the bytes to sign (RFC 9421, section 2.5).
 *
 * @param components Names without parameters.
 * @param params The value of `@signature-params`, as in `signature-input`.
 * @throws {Error} if the message does not have one of the components.
 */
export function signatureBase(
  { method, authority, path, headers }: SignedMessage,
  components: readonly string[],
  params: string,
): Buffer {
  // The scheme is not signed, since a proxy may terminate TLS.
  const message = { method, url: `http://${authority}${path}`, headers: definedOnly(headers) };
  const lines = httpbis.createSignatureBase({ fields: [...components] }, message);
  lines.push(['"@signature-params"', [params]]);
  return Buffer.from(httpbis.formatSignatureBase(lines));
}

function definedOnly(headers: SignedMessage["headers"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Returns the `content-digest` of a body (RFC 9530), with SHA-256. */
export function contentDigest(body: string | Uint8Array): string {
  return `sha-256=:${hash("sha256", body, "base64")}:`;
}

/**
 * Whether a `content-digest` matches a body. Unsupported algorithms and lists of digests count as a mismatch.
 */
export function matchesContentDigest(header: string, body: Uint8Array): boolean {
  return SHA_256.test(header) && header === contentDigest(body);
}
