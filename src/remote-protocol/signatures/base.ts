import { httpbis } from "http-message-signatures";

/** What a signature speaks of: a request without its body, whose digest is one of its headers. */
export interface SignedMessage {
  readonly method: string;
  /** The value of the header `host`. */
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** What every signature covers. */
export const ALWAYS_COVERED: readonly string[] = Object.freeze(["@method", "@authority", "@path"]);
/** What the signature of a request with a body covers besides. */
export const COVERED_WITH_BODY: readonly string[] = Object.freeze(["content-digest", "content-type"]);

/** The `tag` of every signature: one that was made for something else does not count here. */
export const SIGNATURE_TAG = "sandgate";
/** The only algorithm, as the registry of RFC 9421 names it. */
export const SIGNATURE_ALGORITHM = "ed25519";

/**
 * The bytes that are signed (RFC 9421, section 2.5).
 *
 * @param components Names without parameters.
 * @param params The value of `@signature-params`, as `signature-input` has it.
 * @throws {Error} when the message has no such component.
 */
export function signatureBase(
  { method, authority, path, headers }: SignedMessage,
  components: readonly string[],
  params: string,
): Buffer {
  // The scheme is not signed: a proxy may end TLS before the executor.
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
