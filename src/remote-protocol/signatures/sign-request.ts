import { type KeyObject, randomBytes, sign } from "node:crypto";
import { JSON_MEDIA_TYPE } from "../http.ts";
import {
  ALWAYS_COVERED,
  COVERED_WITH_BODY,
  SIGNATURE_ALGORITHM,
  SIGNATURE_TAG,
  signatureBase,
} from "./base.ts";
import { contentDigest } from "./content-digest.ts";

/** With what a caller signs. */
export interface RequestKey {
  /** The name under which the executor has the public key: printable ASCII without quotes and backslashes. */
  readonly keyId: string;
  /** An Ed25519 key. */
  readonly privateKey: KeyObject;
}

/** A request that is about to be sent. */
export interface UnsignedRequest {
  readonly method: "GET" | "POST";
  /** The value of the header `host` as it is sent: the host in lower case, and the port unless it is the scheme's. */
  readonly authority: string;
  /** Without a query: no request has one. */
  readonly path: string;
  /** What is sent as `application/json`; absent for `GET`. */
  readonly body?: string;
}

/** How long a signature holds, in seconds, unless the caller says otherwise. */
export const SIGNATURE_LIFETIME_S = 30;

const KEY_ID = /^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

/**
 * Signs a request (RFC 9421, Ed25519) together with its body's digest (RFC 9530). Each sending needs a signature
 * of its own: one is taken only once.
 *
 * @param now Milliseconds since the epoch. Default: the clock.
 * @param lifetime Seconds until the signature is over. Default: {@link SIGNATURE_LIFETIME_S}.
 * @returns the headers to add, `content-type` among them where there is a body.
 * @throws {TypeError} when the key's id cannot be written in a header, or the key is no Ed25519 key.
 */
export function signRequest(
  { method, authority, path, body }: UnsignedRequest,
  { keyId, privateKey }: RequestKey,
  now: number = Date.now(),
  lifetime: number = SIGNATURE_LIFETIME_S,
): Readonly<Record<string, string>> {
  if (!KEY_ID.test(keyId)) throw new TypeError("the key's id must be printable ASCII without quotes");
  if (privateKey.asymmetricKeyType !== "ed25519") throw new TypeError("the key must be an Ed25519 key");
  const headers: Record<string, string> =
    body === undefined ? {} : { "content-type": JSON_MEDIA_TYPE, "content-digest": contentDigest(body) };
  const components = body === undefined ? ALWAYS_COVERED : [...ALWAYS_COVERED, ...COVERED_WITH_BODY];
  const created = Math.floor(now / 1_000);
  const params = [
    `(${components.map((name) => `"${name}"`).join(" ")})`,
    `created=${created}`,
    `expires=${created + lifetime}`,
    `nonce="${randomBytes(16).toString("base64url")}"`,
    `alg="${SIGNATURE_ALGORITHM}"`,
    `keyid="${keyId}"`,
    `tag="${SIGNATURE_TAG}"`,
  ].join(";");
  const base = signatureBase({ method, authority, path, headers }, components, params);
  return {
    ...headers,
    "signature-input": `sig=${params}`,
    signature: `sig=:${sign(null, base, privateKey).toString("base64")}:`,
  };
}
