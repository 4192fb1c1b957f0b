import type { KeyObject } from "node:crypto";
import type { RequestKey } from "../../../remote-protocol/signatures/sign-request.ts";

/** How this process authenticates itself to executors. */
export interface ExecutorCredentials {
  /** A private Ed25519 key, or its PEM text, that signs every request (RFC 9421). Default: requests are not signed. */
  readonly signingKey?: KeyObject | string;
  /** The id of the public key on the executors. Required with `signingKey`. */
  readonly keyId?: string;
  /**
   * A bearer token. It is sent only over TLS, loopback and unix sockets; a tool with any other executor address cannot
   * be prepared. Default: none.
   */
  readonly token?: string;
}

/** Valid credentials. */
export interface CheckedCredentials {
  readonly key: RequestKey | undefined;
  readonly token: string | undefined;
}

/** The credentials of a client without any. */
export const NO_CREDENTIALS: CheckedCredentials = Object.freeze({ key: undefined, token: undefined });

/**
 * Checks credentials.
 *
 * @throws {TypeError} if the key is not a private Ed25519 key or has no valid id, or the token is invalid.
 */
export function checkCredentials({ signingKey, keyId, token }: ExecutorCredentials): CheckedCredentials {
  if ((signingKey === undefined) !== (keyId === undefined)) {
    throw new TypeError("remote.signingKey and remote.keyId must be given together");
  }
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError("remote.token must be printable ASCII without spaces");
  }
  if (signingKey === undefined || keyId === undefined) return { key: undefined, token };
  if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(keyId)) {
    throw new TypeError("remote.keyId must be 1 to 256 characters of printable ASCII without quotes");
  }
  return { key: { keyId, privateKey: readKey(signingKey) }, token };
}

function readKey(signingKey: KeyObject | string): KeyObject {
  // A static import of node:crypto would take longer than loading the rest of the package, and most users have no
  // key.
  const { createPrivateKey } = process.getBuiltinModule("node:crypto");
  let key: KeyObject | undefined;
  try {
    key = typeof signingKey === "string" ? createPrivateKey(signingKey) : signingKey;
  } catch {
    // OpenSSL's message would quote the text.
  }
  if (key?.type === "private" && key.asymmetricKeyType === "ed25519") return key;
  throw new TypeError("remote.signingKey must be a private Ed25519 key, or its PEM text");
}
