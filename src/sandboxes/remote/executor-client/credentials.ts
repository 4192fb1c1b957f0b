import type { KeyObject } from "node:crypto";
import type { RequestKey } from "../../../remote-protocol/signatures/sign-request.ts";

/** How the executors know who calls. */
export interface ExecutorCredentials {
  /** Signs every request (RFC 9421): a private Ed25519 key, also as PEM text. Default: none is signed. */
  readonly signingKey?: KeyObject | string;
  /** The name under which the executors have the public key. Required with `signingKey`. */
  readonly keyId?: string;
  /**
   * A bearer token. It is sent over TLS, loopback and unix sockets only: a tool whose executor is elsewhere cannot be
   * prepared. Default: none.
   */
  readonly token?: string;
}

/** Credentials that can be used as they are. */
export interface CheckedCredentials {
  readonly key: RequestKey | undefined;
  readonly token: string | undefined;
}

/** Those of a caller whom nobody asks for any. */
export const NO_CREDENTIALS: CheckedCredentials = Object.freeze({ key: undefined, token: undefined });

/**
 * Checks credentials.
 *
 * @throws {TypeError} when the key is no private Ed25519 key or has no id, or the token fits into no header.
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
  // Loading it with this file would take longer than all of the package, for those who have no key.
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
