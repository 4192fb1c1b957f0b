import { type KeyObject, randomBytes, sign } from "node:crypto";
import { JSON_MEDIA_TYPE } from "../http.ts";
import {
  ALWAYS_COVERED,
  COVERED_WITH_BODY,
  contentDigest,
  SIGNATURE_ALGORITHM,
  SIGNATURE_TAG,
  signatureBase,
} from "./base.ts";

/** The key with which a caller signs requests. */
export interface RequestKey {
  /** Identifies the public key to the executor: printable ASCII without quotes and backslashes. */
  readonly keyId: string;
  /** A private Ed25519 key. */
  readonly privateKey: KeyObject;
}

/** A request to sign. */
export interface UnsignedRequest {
  readonly method: "GET" | "POST";
  /**
   * The value of the `host` header: the host in lower case, with the port unless it is the scheme's default.
   */
  readonly authority: string;
  /** The path without a query, which no request of the protocol has. */
  readonly path: string;
  /** The body, which is sent as `application/json`. Absent for `GET`. */
  readonly body?: string;
  /** Further headers that the signature covers, by their names in lower case. */
  readonly covered?: Readonly<Record<string, string>>;
}

/**
 * Default lifetime of a signature in ms. A request is sent as soon as it is signed, so a longer one is never
 * needed.
 */
export const SIGNATURE_LIFETIME_MS = 30_000;

const KEY_ID = /^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

/**
 * Signs a request (RFC 9421, Ed25519) with the digest of its body (RFC 9530). An executor accepts a signature
 * only once, so retries must be signed again.
 *
 * @param now Milliseconds since the epoch. Default: the current time.
 * @param lifetimeMs Milliseconds until the signature expires, rounded up to the end of a second. Default:
 *   {@link SIGNATURE_LIFETIME_MS}.
 * @returns the headers to add, including `content-type` if there is a body, but not the `covered` ones.
 * @throws {TypeError} if the key's id cannot be written in a header, or the key is not an Ed25519 key.
 */
export function signRequest(
  { method, authority, path, body, covered = {} }: UnsignedRequest,
  { keyId, privateKey }: RequestKey,
  now: number = Date.now(),
  lifetimeMs: number = SIGNATURE_LIFETIME_MS,
): Readonly<Record<string, string>> {
  if (!KEY_ID.test(keyId)) throw new TypeError("the key's id must be printable ASCII without quotes");
  if (privateKey.asymmetricKeyType !== "ed25519") throw new TypeError("the key must be an Ed25519 key");
  const headers: Record<string, string> =
    body === undefined ? {} : { "content-type": JSON_MEDIA_TYPE, "content-digest": contentDigest(body) };
  const components = [
    ...ALWAYS_COVERED,
    ...(body === undefined ? [] : COVERED_WITH_BODY),
    ...Object.keys(covered),
  ];
  const created = Math.floor(now / 1_000);
  const params = [
    `(${components.map((name) => `"${name}"`).join(" ")})`,
    `created=${created}`,
    `expires=${Math.ceil((now + lifetimeMs) / 1_000)}`,
    `nonce="${randomBytes(16).toString("base64url")}"`,
    `alg="${SIGNATURE_ALGORITHM}"`,
    `keyid="${keyId}"`,
    `tag="${SIGNATURE_TAG}"`,
  ].join(";");
  const base = signatureBase(
    { method, authority, path, headers: { ...headers, ...covered } },
    components,
    params,
  );
  return {
    ...headers,
    "signature-input": `sig=${params}`,
    signature: `sig=:${sign(null, base, privateKey).toString("base64")}:`,
  };
}
