import type { KeyObject, X509Certificate } from "node:crypto";
import type { ClientCertificate } from "../../../egress/connections.ts";
import type { RequestKey } from "../../../remote-protocol/signatures/sign-request.ts";

/** The TLS of connections to executors. */
export interface ClientTls {
  /** The certificate authorities to trust instead of the default ones, in PEM. */
  readonly ca?: string | undefined;
  readonly clientCertificate?: ClientCertificate | undefined;
}

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
  /**
   * The certificate authorities to trust for executors, in PEM. Default: those of `egress.ca`, or else those of Node.js.
   */
  readonly ca?: string;
  /**
   * A certificate for executors that require one, in PEM, followed by the intermediate certificates. Default:
   * none.
   */
  readonly cert?: string;
  /** The private key of `cert`, in PEM. Required with `cert`. */
  readonly key?: string;
}

/** How this process calls executors. */
export interface ExecutorClientOptions extends ExecutorCredentials {
  /**
   * Whether calls go over one connection to each executor, as frames (`sandgate-frames/1`), once it is open. Calls go over
   * HTTP before, and to an executor or a proxy that knows no such connections. Default: `false`.
   */
  readonly frames?: boolean;
}

/** Valid credentials. */
export interface CheckedCredentials {
  readonly key: RequestKey | undefined;
  readonly token: string | undefined;
  readonly tls: ClientTls;
}

/** The credentials of a client without any. */
export const NO_CREDENTIALS: CheckedCredentials = Object.freeze({
  key: undefined,
  token: undefined,
  tls: Object.freeze({}),
});

/**
 * Checks credentials.
 *
 * @throws {TypeError} if the key is not a private Ed25519 key or has no valid id, or the token or a certificate is invalid.
 */
export function checkCredentials(credentials: ExecutorCredentials): CheckedCredentials {
  const { signingKey, keyId, token } = credentials;
  const tls = checkClientTls(credentials);
  if ((signingKey === undefined) !== (keyId === undefined)) {
    throw new TypeError("remote.signingKey and remote.keyId must be given together");
  }
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError("remote.token must be printable ASCII without spaces");
  }
  if (signingKey === undefined || keyId === undefined) return { key: undefined, token, tls };
  if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(keyId)) {
    throw new TypeError("remote.keyId must be 1 to 256 characters of printable ASCII without quotes");
  }
  return { key: { keyId, privateKey: readKey(signingKey) }, token, tls };
}

function checkClientTls({ ca, cert, key }: Pick<ExecutorCredentials, "ca" | "cert" | "key">): ClientTls {
  if ((cert === undefined) !== (key === undefined))
    throw new TypeError("remote.cert and remote.key must be given together");
  if (ca === undefined && cert === undefined) return {};
  // Loaded only when needed, as below.
  const { X509Certificate, createPrivateKey } = process.getBuiltinModule("node:crypto");
  const certificateIn = (pem: string, name: string): X509Certificate => {
    try {
      return new X509Certificate(pem);
    } catch {
      throw new TypeError(`remote.${name} must have a certificate in PEM`);
    }
  };
  if (ca !== undefined) certificateIn(ca, "ca");
  if (cert === undefined || key === undefined) return { ca };
  const own = certificateIn(cert, "cert");
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(key);
  } catch {
    throw new TypeError("remote.key must be a private key in PEM that is not encrypted");
  }
  if (!own.checkPrivateKey(privateKey)) throw new TypeError("remote.key is not the key of remote.cert");
  return { ca, clientCertificate: { cert, key } };
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
