import { httpbis } from "http-message-signatures";

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
